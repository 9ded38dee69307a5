SELECT COUNT(c2) FROM cf1 INDEXED BY i_cf1 WHERE custid >= ?1 AND custid < ?2
