//! What our sessions wait for, where the server counts it (performance_schema).

use mysql::Conn;
use mysql::prelude::Queryable;
use slob_engine::WaitEvent;

/// Waits of the sessions of our account alone; those of threads in the background are nobody's time. The waits for tables
/// are made up of the others. What is counted without a clock (sockets of MySQL, as it is shipped) has no time to show.
pub(crate) const QUERY: &str = "SELECT EVENT_NAME, COUNT_STAR, CAST(SUM_TIMER_WAIT DIV 1000000 AS UNSIGNED)
    FROM performance_schema.events_waits_summary_by_user_by_event_name
    WHERE USER = SUBSTRING_INDEX(USER(), '@', 1) AND SUM_TIMER_WAIT > 0
      AND EVENT_NAME <> 'idle' AND EVENT_NAME NOT LIKE 'wait/io/table/%'";

/// The waits since the server counts them; `None` if it does not, or the role may not see them.
pub(crate) fn read(conn: &mut Conn) -> Option<Vec<WaitEvent>> {
    let on: Option<bool> = conn.query_first("SELECT @@performance_schema").ok()?;
    if on != Some(true) {
        return None;
    }
    let rows: Vec<(String, u64, u64)> = conn.query(QUERY).ok()?;
    Some(rows.into_iter().map(|(name, waits, time_us)| event(&name, waits, time_us)).collect())
}

/// An event of that name, as the server names them.
pub(crate) fn event(name: &str, waits: u64, time_us: u64) -> WaitEvent {
    // wait/io/file/innodb/innodb_data_file is an event of the class io/file.
    let parts: Vec<&str> = name.splitn(4, '/').collect();
    let (class, name) = match parts[..] {
        ["wait", group, class, name] => (format!("{group}/{class}"), name.to_owned()),
        _ => (String::new(), name.to_owned()),
    };
    WaitEvent { name, class, waits: Some(waits), time_us, background: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_into_class_and_event() {
        let event = event("wait/io/file/innodb/innodb_data_file", 3, 900);
        assert_eq!((event.class.as_str(), event.name.as_str()), ("io/file", "innodb/innodb_data_file"));
        assert_eq!((event.waits, event.time_us), (Some(3), 900));
    }
}
