
  kinds  smallint[],       -- the kind of each operation
  firsts bigint[],         -- its first key
  ends   bigint[],         -- the key after its last one
  stamps bigint[],         -- the stamp of an UPDATE; empty if there is none
  pauses bigint[],         -- microseconds to pause afterwards; empty if there are none
  dues   bigint[],         -- in an open loop, how many microseconds after the first moment it is due; else empty
  bounds integer[],        -- the last operations of the pieces of the batch, which are executed one by one and as one
                           -- statement in turns, beginning with one by one
  run_us bigint,           -- no operation starts later than this many microseconds after the first; NULL for no limit
  INOUT times timestamptz[], -- the start, and then for each operation its end and, if it pauses, the end of the pause;
                             -- in an open loop the start and the end of each
  INOUT seen  bigint[],    -- rows of each operation that was executed
  INOUT commit_us bigint   -- microseconds in its commits
