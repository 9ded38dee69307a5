
  kinds  smallint[],       -- what each operation does
  firsts bigint[],         -- its first key
  ends   bigint[],         -- the key after its last one
  stamps bigint[],         -- what an UPDATE writes; empty if there is none
  pauses integer[],        -- microseconds to pause afterwards; empty if there are none. In an open loop instead, with a minus
                           -- sign, how long after the first moment each operation is due
  run_us bigint,           -- no operation starts later than this many microseconds after the first; NULL for no limit
  INOUT times timestamptz[], -- the start, and then for each operation its end and, if it pauses, the end of the pause;
                             -- in an open loop the start and the end of each
  INOUT seen  bigint[]     -- rows of each operation that was carried out
