//! The net services that sessions connect through.

use std::num::NonZeroU32;

use serde::Serialize;

/// Named net services: one for administration, one or several for the sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Services {
    pub(crate) admin: Option<String>,
    pub(crate) base: Option<String>,
    pub(crate) max: Option<NonZeroU32>,
}

impl Services {
    /// The service for administration.
    #[must_use]
    pub fn admin(&self) -> Option<&str> {
        self.admin.as_deref()
    }

    /// The service of a session, counted from 0.
    ///
    /// With `SQLNET_SERVICE_MAX=n` the sessions go round-robin to BASE1 to BASEn; without it all of them
    /// go to BASE. `None` if no service is set.
    #[must_use]
    pub fn for_session(&self, session: u32) -> Option<String> {
        let base = self.base.as_deref()?;
        Some(match self.max {
            Some(max) => format!("{base}{}", session % max + 1),
            None => base.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_go_round_robin() {
        let mut services =
            Services { base: Some("rac".into()), max: NonZeroU32::new(3), ..Services::default() };
        let names: Vec<_> = (0..4).filter_map(|session| services.for_session(session)).collect();
        assert_eq!(names, ["rac1", "rac2", "rac3", "rac1"]);
        services.max = None;
        assert_eq!(services.for_session(7).as_deref(), Some("rac"));
        assert_eq!(Services::default().for_session(0), None);
    }
}
