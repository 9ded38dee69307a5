SELECT name FROM sqlite_schema
WHERE name NOT IN ('slob_load', 'slob_slice', 'cf1', 'cf2', 'i_cf1', 'slob_index') AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
ORDER BY name
