//! Parameters of a connection: which there are, and those that every server needs.

use slob_engine::{EngineError, ErrorKind};
use slob_spec::Target;

use crate::Environment;

/// The parameters that a target's query or a file of the client may hold, as the client calls them, and their variables.
#[derive(Clone, Copy, Debug)]
pub struct Keywords(pub &'static [(&'static str, Option<&'static str>)]);

impl Keywords {
    /// Makes sure that those of a target's query, which `spelt` brings into the spelling of this list, are known.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] that names the one which is not.
    pub fn check(&self, target: &Target, spelt: impl Fn(&str) -> String) -> Result<(), EngineError> {
        let is_known = |name: &str| self.0.iter().any(|(known, _)| *known == spelt(name));
        let Some((name, _)) = target.query().iter().find(|(name, _)| !is_known(name)) else { return Ok(()) };
        let known: Vec<_> = self.0.iter().map(|(known, _)| *known).collect();
        Err(unusable(format!("'{name}' in its query is not a parameter of a connection"))
            .with_advice(format!("known are {}", known.join(", "))))
    }

    /// The value of a parameter's variable.
    #[must_use]
    pub fn variable(&self, keyword: &str, environment: &Environment<'_>) -> Option<String> {
        let (_, variable) = self.0.iter().find(|(name, _)| *name == keyword)?;
        environment.variable((*variable)?)
    }
}

/// The error of a target, or of a parameter that belongs to it, that can't be used.
pub fn unusable(message: impl Into<String>) -> EngineError {
    EngineError::new(ErrorKind::Usage, "reading the target", message)
}

/// A port; `sources` says where it may come from.
///
/// # Errors
/// [`ErrorKind::Usage`] if it is not one.
pub fn port(text: &str, sources: &str) -> Result<u16, EngineError> {
    text.trim().parse().ok().filter(|port| *port > 0).ok_or_else(|| {
        unusable(format!("the port '{text}' is not a number from 1 to 65535"))
            .with_advice(format!("it comes from {sources}"))
    })
}

/// Who connects: the user of the target, else of another source, else the account's name, as for the servers' own clients.
///
/// # Errors
/// [`ErrorKind::Usage`] if there is none; `example` shows how one is written.
pub fn user(
    target: &Target,
    other: impl FnOnce() -> Option<String>,
    environment: &Environment<'_>,
    example: &str,
) -> Result<String, EngineError> {
    let user = target.user().map(str::to_owned).or_else(other).or_else(|| environment.account());
    user.ok_or_else(|| {
        unusable("it names no user, and this account has no name").with_advice(format!("write {example}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYWORDS: Keywords = Keywords(&[("port", Some("DBPORT")), ("ssl-mode", None)]);

    #[test]
    fn a_parameter_that_is_not_known_is_named_with_those_that_are() {
        let check = |target: &str| KEYWORDS.check(&target.parse().unwrap(), |name| name.replace('_', "-"));
        assert!(check("db://h/?port=1&ssl_mode=x").is_ok());
        let error = check("db://h/?prot=1").unwrap_err().to_string();
        assert!(error.contains("'prot'") && error.contains("port, ssl-mode"), "{error}");
    }

    #[test]
    fn a_variable_that_is_empty_is_none() {
        let variable = |value: &'static str| {
            let variables = move |name: &str| (name == "DBPORT").then(|| value.to_owned());
            KEYWORDS.variable("port", &Environment::new(&variables))
        };
        assert_eq!((variable("7"), variable("")), (Some("7".into()), None));
    }

    #[test]
    fn a_port_is_a_number_that_is_not_zero() {
        assert_eq!(port(" 5432 ", "port=").unwrap(), 5432);
        for text in ["0", "65536", "x", ""] {
            assert!(port(text, "port=").unwrap_err().to_string().contains("port="), "{text}");
        }
    }
}
