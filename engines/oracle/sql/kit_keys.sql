SELECT {number} AS schema_number, m.last_key, s.scan_rows
FROM (SELECT MAX(t.custid) AS last_key FROM {user}.cf1 t) m
CROSS JOIN (SELECT {count} AS scan_rows FROM {scan_table}) s
