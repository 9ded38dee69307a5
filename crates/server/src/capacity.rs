//! Whether there is room for the sessions of a run.

use slob_engine::{EngineError, ErrorKind};

/// A limit of connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Its name, as the server's manual calls it.
    pub name: String,
    /// How many there may be.
    pub most: u64,
    /// Of these, kept for others.
    pub reserved: u64,
    /// Of these, there already.
    pub in_use: u64,
    /// How it is raised.
    pub remedy: String,
}

impl Limit {
    /// Refuses so many sessions if they will not all be let in beside `others`, which this program opens to watch and may not
    /// have open yet.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`], with the figures.
    pub fn check(&self, sessions: u32, others: u64, step: &str) -> Result<(), EngineError> {
        let Self { name, most, reserved, in_use, remedy } = self;
        let room = most.saturating_sub(reserved + in_use + others);
        if u64::from(sessions) <= room {
            return Ok(());
        }
        let kept = if *reserved > 0 { format!("{reserved} are reserved and ") } else { String::new() };
        let message = format!(
            "{sessions} sessions do not fit: {name} is {most}, of which {kept}{in_use} are in use, and {others} are needed to watch"
        );
        Err(EngineError::new(ErrorKind::Usage, step, message).with_advice(format!(
            "{remedy}, or run with at most {room} sessions here (fewer schemas or threads)"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_that_do_not_fit_are_refused_with_the_figures() {
        let (name, remedy) = ("max_connections".to_owned(), "raise it".to_owned());
        let limit = Limit { name, most: 100, reserved: 3, in_use: 5, remedy };
        assert!(limit.check(90, 2, "counting").is_ok());
        let error = limit.check(91, 2, "counting").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert_eq!(
            error.to_string(),
            "counting: 91 sessions do not fit: max_connections is 100, of which 3 are reserved and 5 are in use, and 2 are \
             needed to watch; raise it, or run with at most 90 sessions here (fewer schemas or threads)"
        );
        let full = Limit { in_use: 200, reserved: 0, ..limit };
        assert!(full.check(1, 2, "counting").unwrap_err().to_string().contains("at most 0 sessions"));
    }
}
