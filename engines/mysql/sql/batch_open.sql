BEGIN
  DECLARE began   DATETIME(6) DEFAULT SYSDATE(6);
  DECLARE stop_us BIGINT DEFAULT COALESCE(run_us, 9000000000000000000);
  DECLARE us      BIGINT DEFAULT 0;          -- the time since it began, in microseconds
  DECLARE waited  BIGINT DEFAULT 0;          -- the time in its commits
  DECLARE done    INT DEFAULT 0;             -- operations of earlier parts
  DECLARE i       INT DEFAULT 0;             -- operations of this part
  DECLARE size    INT;
  DECLARE n       BIGINT;
  DECLARE first   BIGINT UNSIGNED;
  DECLARE part    VARBINARY({part_bytes});   -- short, since every look into a long text copies all of it
  DECLARE answer  VARBINARY({answer_bytes}) DEFAULT '';
  DECLARE answers LONGBLOB DEFAULT '';
