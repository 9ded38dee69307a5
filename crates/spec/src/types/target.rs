//! What is tested: the address of a database.

mod parse;

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use super::Secret;
pub use parse::BadTarget;

/// One host of a target, with its port where one is given.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// Name or address; an IPv6 address without its brackets. Percent escapes are decoded.
    pub host: String,
    /// The port; `None` means the engine's own default.
    pub port: Option<u16>,
}

/// The address of a database, split into its parts.
///
/// Two forms are read: `scheme://user:password@host:port/path?name=value`, where several hosts may stand
/// side by side with commas, and `scheme:path?name=value` for an engine that lives in a file. The scheme
/// names the engine; which schemes exist is not known here.
///
/// [`fmt::Display`], [`fmt::Debug`] and serialisation give the address without its password. Every other
/// part is decoded: `%40` has become `@`.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    pub(super) text: String,
    pub(super) scheme: String,
    pub(super) user: Option<String>,
    pub(super) password: Option<Secret>,
    pub(super) endpoints: Vec<Endpoint>,
    pub(super) path: String,
    pub(super) query: Vec<(String, String)>,
}

impl Target {
    /// The scheme, in lower case: what an engine is found by.
    #[must_use]
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// The user, if one is given.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// The password, from before the `@` or from `password=` in the query.
    #[must_use]
    pub fn password(&self) -> Option<&Secret> {
        self.password.as_ref()
    }

    /// All hosts in the order written; none in the form without `//`.
    #[must_use]
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// The same address with another password, or with one at all.
    #[must_use]
    pub fn with_password(self, password: Secret) -> Self {
        Self { password: Some(password), ..self }
    }

    /// The same address with other hosts: a list as it may stand in a target, `host:port,host:port`.
    ///
    /// # Errors
    /// If the list is misspelt, or this target is not one of hosts.
    pub fn with_endpoints(&self, list: &str) -> Result<Self, BadTarget> {
        parse::with_endpoints(self, list)
    }

    /// The first host.
    #[must_use]
    pub fn host(&self) -> Option<&str> {
        self.endpoints.first().map(|endpoint| endpoint.host.as_str())
    }

    /// The first host's port.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        self.endpoints.first().and_then(|endpoint| endpoint.port)
    }

    /// The path as written: `./d` of `x:./d`, `/db` of `x://host/db`; empty if there is none.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The path without its leading slash, as a server's database or service name; `None` if empty.
    #[must_use]
    pub fn database(&self) -> Option<&str> {
        Some(self.path.strip_prefix('/').unwrap_or(&self.path)).filter(|name| !name.is_empty())
    }

    /// The pairs after `?`, in the order written and without the password.
    #[must_use]
    pub fn query(&self) -> &[(String, String)] {
        &self.query
    }

    /// The last value of a name in the query.
    #[must_use]
    pub fn query_value(&self, name: &str) -> Option<&str> {
        self.query.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

impl FromStr for Target {
    type Err = BadTarget;

    fn from_str(text: &str) -> Result<Self, BadTarget> {
        parse::parse(text)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({})", self.text)
    }
}

impl Serialize for Target {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    fn parse(text: &str) -> Target {
        text.parse().unwrap()
    }

    #[test]
    fn splits_a_server_address() {
        let target = parse("Db2x://app:p%40ss@db1:5432,[::1]:5433,db3/or%20ders?tls=on&tls=off&x");
        assert_eq!(target.scheme(), "db2x");
        assert_eq!(target.user(), Some("app"));
        assert_eq!(target.password().map(Secret::expose), Some("p@ss"));
        let hosts: Vec<_> = target.endpoints().iter().map(|end| (end.host.as_str(), end.port)).collect();
        assert_eq!(hosts, [("db1", Some(5432)), ("::1", Some(5433)), ("db3", None)]);
        assert_eq!((target.host(), target.port()), (Some("db1"), Some(5432)));
        assert_eq!((target.path(), target.database()), ("/or ders", Some("or ders")));
        assert_eq!(target.query_value("tls"), Some("off"));
        assert_eq!(target.query_value("x"), Some(""));
        assert_eq!(target.to_string(), "db2x://app@db1:5432,[::1]:5433,db3/or%20ders?tls=on&tls=off&x");
    }

    #[test]
    fn splits_a_path() {
        let target = parse("file:./slob-data?mode=direct");
        assert_eq!((target.path(), target.host(), target.port()), ("./slob-data", None, None));
        assert_eq!(target.query(), [("mode".to_owned(), "direct".to_owned())]);
        assert_eq!(parse("file:/a%25b").path(), "/a%b");
        assert_eq!(parse("null:").to_string(), "null:");
        assert_eq!(parse("null:").database(), None);
    }

    #[rstest]
    #[case("db://u:top%20secret@h/d")]
    #[case("db://u:top secret@h/d")]
    #[case("db://u@h/d?password=top%20secret")]
    #[case("db://h?a=b&PassWord=top%20secret&c=d")]
    fn never_shows_a_password(#[case] text: &str) {
        let target = parse(text);
        assert_eq!(target.password().map(Secret::expose), Some("top secret"));
        assert!(!format!("{target} {target:?}").contains("secret"));
        assert!(target.query().iter().all(|(_, value)| !value.contains("secret")));
    }

    #[rstest]
    #[case("./slob-data", BadTarget::Scheme)]
    #[case("", BadTarget::Scheme)]
    #[case("1db:x", BadTarget::Scheme)]
    #[case("db://h:port/d", BadTarget::Port)]
    #[case("db://h:70000/d", BadTarget::Port)]
    #[case("db://u:12/3@h/d", BadTarget::StrayAt)]
    #[case("db:scott/tiger@h", BadTarget::StrayAt)]
    #[case("db://u:p%4@h", BadTarget::Escape)]
    #[case("db://h/%zz", BadTarget::Escape)]
    #[case("db://h/%ff", BadTarget::Escape)]
    #[case("db://h1,,h2/d", BadTarget::Host)]
    #[case("db://[::1/d", BadTarget::Host)]
    #[case("db://h/d%00", BadTarget::Control)]
    #[case("db://h/d?sslpassword=x", BadTarget::SecretInQuery)]
    #[case("db://h/d?api%5Ftoken=x", BadTarget::SecretInQuery)]
    #[case("db://h/d?pass=x", BadTarget::SecretInQuery)]
    #[case("db://h/d?=x", BadTarget::Query)]
    #[case("db://h/d?a=b?password=x", BadTarget::Query)]
    #[case("db://u:12?@h/d", BadTarget::StrayAt)]
    #[case("db://a:x@h?password=y", BadTarget::TwoPasswords)]
    fn refuses(#[case] text: &str, #[case] expected: BadTarget) {
        assert_eq!(text.parse::<Target>().err(), Some(expected));
    }

    #[test]
    fn hosts_that_would_be_shown_as_something_else_are_refused() {
        let target = parse("db://u@h/d");
        assert_eq!(target.with_endpoints("a:1,[::1]").unwrap().to_string(), "db://u@a:1,[::1]/d");
        for list in ["a?b", "a/b", "u:p@a", "a\n"] {
            assert_eq!(target.with_endpoints(list).err(), Some(BadTarget::Host), "{list}");
        }
        assert_eq!(parse("file:.//d").with_endpoints("a").err(), Some(BadTarget::Host));
    }

    proptest! {
        #[test]
        fn any_text_is_an_answer(text in "\\PC*") {
            let _ = text.parse::<Target>();
        }

        #[test]
        fn what_is_shown_reads_back_without_the_password(
            text in "db:(//)?([a-z%40]{0,4}(:S3CRET[@:a-z]{0,3})?@)?[a-z:0-9,]{0,6}[/a-z%40]{0,6}(\\?([a-z=&%40]{0,8}&)?(password=S3CRET)?)?"
        ) {
            let Ok(target) = text.parse::<Target>() else { return Ok(()) };
            let shown = target.to_string();
            prop_assert!(!shown.contains("S3CRET"), "{}", shown);
            let again: Target = shown.parse().unwrap();
            prop_assert_eq!(again, Target { password: None, ..target });
        }
    }
}
