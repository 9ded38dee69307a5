
DECLARE
  t    timestamptz := clock_timestamp();
  stop timestamptz := t + coalesce(run_us, 1e15) * interval '1 microsecond';
  j    integer := 1;
  n    bigint;
  h    text;
  a    integer := 1;
  b    integer;
  last integer;
  ends_of timestamptz[];
  rows_of bigint[];
  is_open boolean := cardinality(dues) > 0;
  t0   timestamptz := t;
  c    timestamptz;
  waited interval := '0';
{texts}BEGIN
  times[1] := t;
  <<pieces>>
  FOR p IN 1 .. cardinality(bounds) LOOP
    b := bounds[p];
    IF p % 2 = 0 THEN
{stretches}      END IF;
      -- A clock that was set back may have let in an operation after one that was late: such a stretch is left out.
      EXIT WHEN rows_of IS NULL OR last <> a + cardinality(rows_of) - 1;
      IF a = 1 AND p = cardinality(bounds) THEN
        times := t || ends_of;
        seen := rows_of;
        EXIT;
      END IF;
      FOR m IN 1 .. cardinality(rows_of) LOOP
        j := j + 1;
        times[j] := ends_of[m];
        seen[a + m - 1] := rows_of[m];
      END LOOP;
      EXIT WHEN last < b;
      t := times[j];
      a := b + 1;
      CONTINUE;
    END IF;
    FOR i IN a .. b LOOP
      EXIT pieces WHEN t >= stop;
      IF is_open THEN
        IF t0 + dues[i] * interval '1 microsecond' > t THEN
          PERFORM pg_sleep(extract(epoch FROM least(t0 + dues[i] * interval '1 microsecond', stop) - clock_timestamp()));
        END IF;
        t := clock_timestamp();
        EXIT pieces WHEN t >= stop;
        j := j + 1;
        times[j] := t;
      END IF;
{branches}      END IF;
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
    a := b + 1;
  END LOOP;
  commit_us := (extract(epoch FROM waited) * 1e6)::bigint;
{flush}END
