  IN plan       LONGBLOB,  -- for each operation: kind, first key, keys, microseconds to pause afterwards, stamp
  IN operations INT,
  IN is_open    BOOLEAN,   -- instead of pausing so long after it, no operation starts earlier than that after the first
  IN run_us     BIGINT     -- no operation starts later than this many microseconds after the first; NULL for no limit
