  -- The operations before an error are answered first, then the error.
  DECLARE EXIT HANDLER FOR SQLEXCEPTION
  BEGIN
    ROLLBACK;
    SELECT CONCAT(answers, answer), waited;
    RESIGNAL;
  END;
  WHILE done < operations AND us < stop_us DO
    SET part = SUBSTR(plan, done * {op_bytes} + 1, {part_bytes});
    SET size = LENGTH(part) DIV {op_bytes};
    SET i = 0;
    parts: REPEAT
