UPDATE cf1 INDEXED BY i_cf1
SET c2 = ?3, c3 = ?4, c4 = ?5, c5 = ?6, c6 = ?7, c7 = ?8, c8 = ?9, c9 = ?10, c10 = ?11, c11 = ?12, c12 = ?13,
    c13 = ?14, c14 = ?15, c15 = ?16, c16 = ?17, c17 = ?18, c18 = ?19, c19 = ?20, c20 = ?21
WHERE custid >= ?1 AND custid < ?2
