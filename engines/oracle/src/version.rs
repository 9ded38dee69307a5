//! Releases, and what they can do.

use slob_engine::{EngineError, ErrorKind};

use crate::client::Client;
use crate::error::failed;
use crate::scope::Container;

/// A release: 19.24.0.0.0, 11.2.0.4.0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    /// The first four numbers; those that are missing are 0.
    pub(crate) number: [u32; 4],
    /// As the server says it.
    pub(crate) text: String,
}

impl Version {
    const OLDEST: [u32; 4] = [11, 2, 0, 0];

    /// Reads the text of a version.
    pub(crate) fn parse(text: &str) -> Self {
        let mut parts = text.split('.').map_while(|part| part.parse().ok());
        Self { number: [0; 4].map(|_: u32| parts.next().unwrap_or(0)), text: text.to_owned() }
    }

    /// What pauses a session. Before 18 it is in a package that must be granted.
    pub(crate) fn sleep(&self) -> &'static str {
        if self.number >= [18, 0, 0, 0] { "DBMS_SESSION.SLEEP" } else { "DBMS_LOCK.SLEEP" }
    }

    /// Whether histograms of waits have buckets below a millisecond.
    pub(crate) fn has_micro_histograms(&self) -> bool {
        self.number >= [12, 1, 0, 2]
    }

    /// Whether releases have a full number beside that of their family.
    fn has_full_number(&self) -> bool {
        self.number >= [18, 0, 0, 0]
    }

    /// Whether hints can be switched off.
    pub(crate) fn can_ignore_hints(&self) -> bool {
        self.number >= [18, 0, 0, 0]
    }

    /// Whether views of counters count the pluggable database alone that they are queried in.
    pub(crate) fn counts_by_container(&self) -> bool {
        self.number >= [12, 2, 0, 0]
    }

    /// Whether there are containers.
    pub(crate) fn has_containers(&self) -> bool {
        self.number >= [12, 1, 0, 0]
    }
}

/// Asks for the release, and for the container.
///
/// # Errors
/// [`ErrorKind::Usage`] if it is too old.
pub(crate) fn ask(client: &mut dyn Client) -> Result<(Version, Container), EngineError> {
    let step = "asking for the server's version";
    let rows = client.query(include_str!("../sql/version.sql"), &[]).map_err(|fault| failed(step, &fault))?;
    let text = rows.into_iter().flatten().flatten().next().unwrap_or_default();
    let mut version = Version::parse(&text);
    if version.number < Version::OLDEST {
        return Err(EngineError::new(ErrorKind::Usage, step, format!("the server is Oracle '{text}'"))
            .with_advice("11.2 is the oldest that is supported"));
    }
    if version.has_full_number() {
        let rows = client.query(include_str!("../sql/version_full.sql"), &[]).unwrap_or_default();
        version = rows.into_iter().flatten().flatten().next().map_or(version, |text| Version::parse(&text));
    }
    let container = if version.has_containers() { Container::ask(client)? } else { Container::default() };
    Ok((version, container))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_know_what_they_can_do() {
        let of = Version::parse;
        assert_eq!(of("19.24.0.0.0").number, [19, 24, 0, 0]);
        assert_eq!(
            (of("18.0.0.0.0").sleep(), of("12.2.0.1.0").sleep()),
            ("DBMS_SESSION.SLEEP", "DBMS_LOCK.SLEEP")
        );
        assert!(of("12.1.0.2.0").has_micro_histograms() && !of("12.1.0.1.0").has_micro_histograms());
        assert!(of("18.0.0.0.0").can_ignore_hints() && !of("12.2.0.1.0").can_ignore_hints());
        assert!(of("12.2.0.1.0").counts_by_container() && !of("12.1.0.2.0").counts_by_container());
        assert!(of("12.1.0.1.0").has_containers() && !of("11.2.0.4.0").has_containers());
        assert_eq!(of("nonsense").number, [0; 4]);
    }
}
