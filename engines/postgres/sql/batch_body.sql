
DECLARE
  t    timestamptz := clock_timestamp();
  stop timestamptz := t + coalesce(run_us, 1e15) * interval '1 microsecond';
  j    integer := 1;
  n    bigint;
  h    text;
  is_open boolean := cardinality(dues) > 0;
  t0   timestamptz := t;
{texts}BEGIN
  times[1] := t;
  FOR i IN 1 .. cardinality(kinds) LOOP
    EXIT WHEN t >= stop;
    IF is_open THEN
      IF t0 + dues[i] * interval '1 microsecond' > t THEN
        PERFORM pg_sleep(extract(epoch FROM least(t0 + dues[i] * interval '1 microsecond', stop) - clock_timestamp()));
      END IF;
      t := clock_timestamp();
      EXIT WHEN t >= stop;
      j := j + 1;
      times[j] := t;
    END IF;
{branches}    END IF;
    t := clock_timestamp();
    j := j + 1;
    times[j] := t;
    seen[i] := n;
    IF pauses[i] > 0 THEN
      PERFORM pg_sleep(greatest(extract(epoch FROM least(pauses[i] * interval '1 microsecond', stop - t)), 0));
      t := clock_timestamp();
      j := j + 1;
      times[j] := t;
    END IF;
  END LOOP;
{flush}END
