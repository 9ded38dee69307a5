//! How long reads of data files take, where the server times them (performance_schema). MySQL does as it is shipped; MariaDB
//! must be started with performance_schema=ON.

use mysql::Conn;
use mysql::prelude::Queryable;

/// Nothing where the server does not time them: a sum that does not grow would look like reads that take no time.
pub(crate) const QUERY: &str = "SELECT f.COUNT_READ, CAST(f.SUM_TIMER_READ DIV 1000 AS UNSIGNED)
    FROM performance_schema.file_summary_by_event_name f
    JOIN performance_schema.setup_instruments i ON i.NAME = f.EVENT_NAME
    WHERE f.EVENT_NAME = 'wait/io/file/innodb/innodb_data_file' AND i.ENABLED = 'YES' AND i.TIMED = 'YES'";

/// Reads of InnoDB's data files by any thread, since the server began to count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DataReads {
    pub(crate) requests: u64,
    pub(crate) time_ns: u64,
}

/// `None` if the server does not time them, or the role may not see it.
pub(crate) fn read(conn: &mut Conn) -> Option<DataReads> {
    let (requests, time_ns) = conn.query_first(QUERY).ok()??;
    Some(DataReads { requests, time_ns })
}
