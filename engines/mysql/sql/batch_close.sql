    UNTIL i >= size OR us >= stop_us END REPEAT parts;
    SET answers = CONCAT(answers, answer);
    SET answer = '';
    SET done = done + i;
  END WHILE;
  -- MariaDB counts the pages of a transaction when it ends, and SELECTs alone end none.
  {end};
  SELECT answers, waited;
END
