    UNTIL i >= size OR us >= stop_us END REPEAT parts;
    SET answers = CONCAT(answers, answer);
    SET answer = '';
    SET done = done + i;
  END WHILE;
  SELECT answers;
END
