UPDATE cf1 INDEXED BY i_cf1 SET c2 = ?3, c20 = ?4 WHERE custid >= ?1 AND custid < ?2
