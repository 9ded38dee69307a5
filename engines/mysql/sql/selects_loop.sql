      SET first = CAST(SUBSTR(part, i * {op_bytes} + 1, {op_bytes}) AS UNSIGNED);
      {select};
      SET us = TIMESTAMPDIFF(MICROSECOND, began, SYSDATE(6));
      SET answer = CONCAT(answer, us, ' ', n, ' ');
      SET i = i + 1;
