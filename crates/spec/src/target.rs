//! The target: the address of a database.

use std::fmt;
use std::str::FromStr;

use crate::types::{Secret, whole};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// Decoded; an IPv6 address has no brackets.
    pub host: String,
    pub port: Option<u16>,
}

/// `scheme://user:password@host:port/path?name=value`, with commas between hosts, or `scheme:path?name=value` for files.
///
/// [`fmt::Display`] and [`fmt::Debug`] leave out the password. Parts are decoded: `%40` is `@`.
#[derive(Clone, PartialEq, Eq, derive_more::Display)]
#[display("{text}")]
pub struct Target {
    /// The user's spelling, without the password.
    text: String,
    scheme: String,
    user: Option<String>,
    password: Option<Secret>,
    endpoints: Vec<Endpoint>,
    path: String,
    query: Vec<(String, String)>,
}

impl Target {
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// It lies before the `@` or in the query.
    pub fn password(&self) -> Option<&Secret> {
        self.password.as_ref()
    }

    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// The form is `scheme:path`.
    pub fn is_bare(&self) -> bool {
        !self.text[self.scheme.len()..].starts_with("://")
    }

    pub fn with_password(self, password: Secret) -> Self {
        Self { password: Some(password), ..self }
    }

    /// The list is such as `host:port,host:port`. Fails if it is misspelt, or this target has no hosts.
    pub fn with_endpoints(&self, list: &str) -> Result<Self, BadTarget> {
        if list.chars().any(char::is_control) {
            return Err(BadTarget::Host);
        }
        let (scheme, rest) = self.text.split_once(':').ok_or(BadTarget::Host)?;
        let rest = rest.strip_prefix("//").ok_or(BadTarget::Host)?;
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let user = authority.rsplit_once('@').map_or(String::new(), |(user, _)| format!("{user}@"));
        let text = format!("{scheme}://{user}{}{path}", list.trim());
        Ok(Self { text, endpoints: read_endpoints(list)?, ..self.clone() })
    }

    pub fn host(&self) -> Option<&str> {
        self.endpoints.first().map(|endpoint| endpoint.host.as_str())
    }

    pub fn port(&self) -> Option<u16> {
        self.endpoints.first().and_then(|endpoint| endpoint.port)
    }

    /// `./d` of `x:./d`, `/db` of `x://host/db`; may be empty.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// A path without its slash names a database or service; `None` if empty.
    pub fn database(&self) -> Option<&str> {
        Some(self.path.strip_prefix('/').unwrap_or(&self.path)).filter(|name| !name.is_empty())
    }

    /// Pairs after `?`, without the password.
    pub fn query(&self) -> &[(String, String)] {
        &self.query
    }

    /// The last value counts.
    pub fn query_value(&self, name: &str) -> Option<&str> {
        self.query.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

impl FromStr for Target {
    type Err = BadTarget;

    fn from_str(text: &str) -> Result<Self, BadTarget> {
        if text.chars().any(char::is_control) {
            return Err(BadTarget::Control);
        }
        let (scheme, rest) = split_scheme(text)?;
        let (before_query, query) =
            rest.split_once('?').map_or((rest, None), |(before, query)| (before, Some(query)));
        let mut target = Self {
            text: format!("{scheme}:"),
            scheme,
            user: None,
            password: None,
            endpoints: Vec::new(),
            path: String::new(),
            query: Vec::new(),
        };
        match before_query.strip_prefix("//") {
            Some(address) => read_address(&mut target, address)?,
            None => read_bare_path(&mut target, before_query)?,
        }
        if let Some(query) = query {
            read_query(&mut target, query)?;
        }
        Ok(target)
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({})", self.text)
    }
}

/// No message repeats the text, which may hold a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTarget {
    #[error("it does not begin with a scheme and a colon; write scheme:path or scheme://user@host:port/name")]
    Scheme,
    #[error(
        "a port is not a number from 1 to 65535; write '@ / ? : %' within a password as %40 %2F %3F %3A %25"
    )]
    Port,
    #[error(
        "a host is missing or misspelt; write hosts as host:port with commas between, IPv6 in [brackets]"
    )]
    Host,
    #[error(
        "the user's name holds a character that names rarely have; write user:password@, and such characters as \
         escapes: a blank as %20"
    )]
    User,
    #[error(
        "there is an '@' in the path; write user:password@ directly after '//', and %40 for an '@' elsewhere"
    )]
    StrayAt,
    #[error("a '%' does not begin an escape such as %40; write a percent sign as %25")]
    Escape,
    #[error("it has a control character in it, such as a line break or a zero byte")]
    Control,
    #[error("its query holds a secret, which would be shown in reports; only 'password' may stand there")]
    SecretInQuery,
    #[error(
        "its query is misspelt; write ?name=value&name=value, and %3F for a '?', %3D for a '=' within a name or value"
    )]
    Query,
    #[error("it holds two passwords; keep the one before the '@' or the one in the query")]
    TwoPasswords,
}

const PASSWORD: &str = "password";
/// Letters by which a misspelling may differ.
const MISSPELT: usize = 2;
/// Names of secrets in a query contain them.
const SECRET_WORDS: [&str; 6] = ["password", "passwd", "passphrase", "pwd", "secret", "token"];

fn split_scheme(text: &str) -> Result<(String, &str), BadTarget> {
    let (scheme, rest) = text.split_once(':').ok_or(BadTarget::Scheme)?;
    let name = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let good = scheme.starts_with(|first: char| first.is_ascii_alphabetic()) && scheme.bytes().all(name);
    if good { Ok((scheme.to_ascii_lowercase(), rest)) } else { Err(BadTarget::Scheme) }
}

/// The form is `user:password@hosts/path`.
fn read_address(target: &mut Target, address: &str) -> Result<(), BadTarget> {
    let (authority, path) = address.split_at(address.find('/').unwrap_or(address.len()));
    // A '/' in a password leaves the '@' in the path, which would be shown.
    if path.contains('@') {
        return Err(BadTarget::StrayAt);
    }
    // A '?' is missing.
    if path.contains('=') {
        return Err(BadTarget::Query);
    }
    target.text.push_str("//");
    let hosts = match authority.rsplit_once('@') {
        Some((login, hosts)) => {
            read_login(target, login)?;
            hosts
        }
        None => authority,
    };
    if !hosts.is_empty() {
        target.endpoints = read_endpoints(hosts)?;
    }
    target.text.push_str(hosts);
    target.text.push_str(path);
    target.path = decode(path)?;
    Ok(())
}

fn read_endpoints(hosts: &str) -> Result<Vec<Endpoint>, BadTarget> {
    hosts.split(',').map(|host| read_endpoint(host.trim())).collect()
}

fn read_login(target: &mut Target, login: &str) -> Result<(), BadTarget> {
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    if !user.is_empty() {
        // A user's name is shown, so a misspelt ':' must not make the password a part of it.
        let decoded = decode(user)?;
        let is_usual = |c: char| c.is_alphanumeric() || "._-$#+%".contains(c);
        if !user.chars().all(is_usual) || decoded.contains([':', '/']) {
            return Err(BadTarget::User);
        }
        target.user = Some(decoded);
        target.text.push_str(user);
        target.text.push('@');
    }
    if !password.is_empty() {
        target.password = Some(Secret::new(decode(password)?));
    }
    Ok(())
}

fn read_endpoint(text: &str) -> Result<Endpoint, BadTarget> {
    if !text.chars().all(|c| c.is_alphanumeric() || "._-:[]%".contains(c)) {
        return Err(BadTarget::Host);
    }
    let (host, port) = split_port(text).ok_or(BadTarget::Host)?;
    let port = port.map(|port| read_port(port).ok_or(BadTarget::Port)).transpose()?;
    let host = decode(host)?;
    if host.is_empty() { Err(BadTarget::Host) } else { Ok(Endpoint { host, port }) }
}

/// `None` for malformed brackets. The form is `host:port` or `[IPv6]:port`.
pub(crate) fn split_port(text: &str) -> Option<(&str, Option<&str>)> {
    let Some(inner) = text.strip_prefix('[') else {
        return Some(text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))));
    };
    match inner.split_once(']')? {
        (host, "") => Some((host, None)),
        (host, after) => Some((host, Some(after.strip_prefix(':')?))),
    }
}

pub(crate) fn read_port(text: &str) -> Option<u16> {
    whole(text).and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0)
}

fn read_bare_path(target: &mut Target, path: &str) -> Result<(), BadTarget> {
    // This may be 'user/password@service', or lack a slash.
    if path.contains('@') {
        return Err(BadTarget::StrayAt);
    }
    target.text.push_str(path);
    target.path = decode(path)?;
    Ok(())
}

fn read_query(target: &mut Target, query: &str) -> Result<(), BadTarget> {
    let mut separator = '?';
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let no_value = if pair.contains('@') { BadTarget::StrayAt } else { BadTarget::Query };
        let (name, value) = pair.split_once('=').ok_or(no_value)?;
        if name.is_empty() || value.contains(['?', '=']) {
            return Err(BadTarget::Query);
        }
        let (name, value) = (decode(name)?, decode(value)?);
        let lower = name.to_ascii_lowercase();
        if lower == PASSWORD {
            if target.password.replace(Secret::new(value)).is_some() {
                return Err(BadTarget::TwoPasswords);
            }
            continue;
        }
        // This '@' may end a password that holds a '?'.
        if pair.contains('@') {
            return Err(BadTarget::StrayAt);
        }
        let is_misspelt = strsim::damerau_levenshtein(&lower, PASSWORD) <= MISSPELT;
        if is_misspelt || lower == "pass" || SECRET_WORDS.iter().any(|word| lower.contains(word)) {
            return Err(BadTarget::SecretInQuery);
        }
        target.query.push((name, value));
        target.text.push(separator);
        target.text.push_str(pair);
        separator = '&';
    }
    Ok(())
}

/// RFC 3986, section 2.1. Fails for an incomplete escape, for what is no UTF-8, and for control characters.
pub fn decode(text: &str) -> Result<String, BadTarget> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
            let (high, low) = (digit(rest.next()), digit(rest.next()));
            let code = high.zip(low).map(|(high, low)| high * 16 + low).ok_or(BadTarget::Escape)?;
            bytes.push(u8::try_from(code).map_err(|_| BadTarget::Escape)?);
        } else {
            bytes.push(byte);
        }
    }
    let decoded = String::from_utf8(bytes).map_err(|_| BadTarget::Escape)?;
    if decoded.chars().any(char::is_control) { Err(BadTarget::Control) } else { Ok(decoded) }
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
    fn a_server_address_is_split() {
        let target = parse("Db2x://app:p%40ss@db1:5432,[::1]:5433,db3/or%20ders?tls=on&tls=off&x=");
        assert_eq!(target.scheme(), "db2x");
        assert_eq!(target.user(), Some("app"));
        assert_eq!(target.password().map(Secret::expose), Some("p@ss"));
        let hosts: Vec<_> = target.endpoints().iter().map(|end| (end.host.as_str(), end.port)).collect();
        assert_eq!(hosts, [("db1", Some(5432)), ("::1", Some(5433)), ("db3", None)]);
        assert_eq!((target.host(), target.port()), (Some("db1"), Some(5432)));
        assert_eq!((target.path(), target.database()), ("/or ders", Some("or ders")));
        assert_eq!(target.query_value("tls"), Some("off"));
        assert_eq!(target.query_value("x"), Some(""));
        assert_eq!(target.to_string(), "db2x://app@db1:5432,[::1]:5433,db3/or%20ders?tls=on&tls=off&x=");
    }

    #[test]
    fn a_path_is_split() {
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
    fn a_password_is_never_shown(#[case] text: &str) {
        let target = parse(text);
        assert_eq!(target.password().map(Secret::expose), Some("top secret"));
        assert!(!format!("{target} {target:?}").contains("secret"));
        assert!(target.query().iter().all(|(_, value)| !value.contains("secret")));
    }

    #[rstest]
    #[case(BadTarget::Scheme, "./slob-data||1db:x")]
    #[case(BadTarget::Port, "db://h:port/d|db://h:70000/d")]
    #[case(BadTarget::StrayAt, "db://u:12/3@h/d|db:scott/tiger@h|db:/u:tiger@h/d|db://u:12?@h/d")]
    #[case(BadTarget::User, "db://u;tiger@h/d|db://u@tiger@h/d|db://u%3Atiger@h/d")]
    #[case(BadTarget::Host, "db://h;tiger/d|db://h1,,h2/d|db://[::1/d")]
    #[case(BadTarget::Query, "db://h/dpassword=x|db://h?password&x|db://h?a=b=c|db://h/d?=x")]
    #[case(BadTarget::Query, "db://h/d?a=b?password=x")]
    #[case(BadTarget::SecretInQuery, "db://h?pasword=x|db://h?passwrod=x|db://h/d?sslpassword=x")]
    #[case(BadTarget::SecretInQuery, "db://h/d?api%5Ftoken=x|db://h/d?pass=x")]
    #[case(BadTarget::Escape, "db://u:p%4@h|db://h/%zz|db://h/%ff")]
    #[case(BadTarget::Control, "db://h/d%00")]
    #[case(BadTarget::TwoPasswords, "db://a:x@h?password=y")]
    fn bad_targets_are_refused(#[case] expected: BadTarget, #[case] texts: &str) {
        for text in texts.split('|') {
            assert_eq!(text.parse::<Target>().err(), Some(expected), "{text}");
        }
    }

    #[test]
    fn other_parts_of_an_address_are_no_endpoints() {
        let target = parse("db://u@h/d");
        assert_eq!(target.with_endpoints("a:1,[::1]").unwrap().to_string(), "db://u@a:1,[::1]/d");
        for list in ["a?b", "a/b", "u:p@a", "a\n"] {
            assert_eq!(target.with_endpoints(list).err(), Some(BadTarget::Host), "{list}");
        }
        assert_eq!(parse("file:.//d").with_endpoints("a").err(), Some(BadTarget::Host));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = text.parse::<Target>();
        }

        #[test]
        fn a_shown_target_reads_back_without_its_password(
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
