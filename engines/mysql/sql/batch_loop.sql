      SET at = i * {op_bytes} + 1;
      SET kind = CAST(SUBSTR(part, at, 1) AS UNSIGNED);
      SET first = CAST(SUBSTR(part, at + 1, 14) AS UNSIGNED);
      SET past = first + CAST(SUBSTR(part, at + 15, 5) AS UNSIGNED);
      SET pause = CAST(SUBSTR(part, at + 20, 10) AS UNSIGNED);
      IF is_open THEN
        WHILE us < LEAST(pause, stop_us) DO
          SET woken = SLEEP((LEAST(pause, stop_us) - us) / 1000000);
          IF woken THEN
            -- KILL QUERY ends the sleep, and nothing else.
            SIGNAL SQLSTATE '70100' SET MYSQL_ERRNO = 1317, MESSAGE_TEXT = 'Query execution was interrupted';
          END IF;
          SET us = TIMESTAMPDIFF(MICROSECOND, began, SYSDATE(6));
        END WHILE;
        IF us >= stop_us THEN
          LEAVE parts;
        END IF;
        SET us = TIMESTAMPDIFF(MICROSECOND, began, SYSDATE(6));
        SET answer = CONCAT(answer, us, ' ');
        SET pause = 0;
      END IF;
{branches}      END IF;
      SET us = TIMESTAMPDIFF(MICROSECOND, began, SYSDATE(6));
      SET answer = CONCAT(answer, us, ' ', n, ' ');
      SET i = i + 1;
      IF pause > 0 THEN
        SET woken = SLEEP(GREATEST(LEAST(pause, stop_us - us), 0) / 1000000);
        IF woken THEN
          SIGNAL SQLSTATE '70100' SET MYSQL_ERRNO = 1317, MESSAGE_TEXT = 'Query execution was interrupted';
        END IF;
        SET us = TIMESTAMPDIFF(MICROSECOND, began, SYSDATE(6));
        SET answer = CONCAT(answer, us, ' ');
      END IF;
