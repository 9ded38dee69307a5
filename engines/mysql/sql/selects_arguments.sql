  IN plan       LONGBLOB,  -- the first key of each operation, 16 digits
  IN operations INT,
  IN width      INT,       -- keys of each operation
  IN run_us     BIGINT     -- no operation starts later than this many microseconds after the first; NULL for no limit
