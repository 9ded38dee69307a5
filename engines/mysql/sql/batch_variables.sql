  DECLARE at      INT;
  DECLARE kind    INT;
  DECLARE past    BIGINT UNSIGNED;
  DECLARE pause   BIGINT;
  DECLARE woken   INT;
  DECLARE is_held BOOLEAN DEFAULT FALSE;     -- an UPDATE waits for its COMMIT
  DECLARE stamp   VARCHAR(16) CHARACTER SET ascii;
