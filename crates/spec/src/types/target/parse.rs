//! Reading a target.

use super::{Endpoint, Secret, Target};

/// Why a text is not a target. No message repeats the text: it may hold a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadTarget {
    /// It does not begin with a scheme.
    #[error("it does not begin with a scheme and a colon; write scheme:path or scheme://user@host:port/name")]
    Scheme,
    /// A port is not a number from 1 to 65535.
    #[error(
        "a port is not a number from 1 to 65535; write '@ / ? : %' within a password as %40 %2F %3F %3A %25"
    )]
    Port,
    /// A host is empty among several, or an IPv6 address is not closed.
    #[error(
        "a host is missing or misspelt; write hosts as host:port with commas between, IPv6 in [brackets]"
    )]
    Host,
    /// An `@` stands where it can't divide user from host.
    #[error(
        "there is an '@' in the path; write user:password@ directly after '//', and %40 for an '@' elsewhere"
    )]
    StrayAt,
    /// A percent sign is not followed by two hexadecimal digits, or the bytes are not UTF-8.
    #[error("a '%' does not begin an escape such as %40; write a percent sign as %25")]
    Escape,
    /// There is a control character, plain or escaped.
    #[error("it has a control character in it, such as a line break or a zero byte")]
    Control,
    /// The query has a pair that looks like a secret and would be written into run records.
    #[error("its query holds a secret, which would be shown in reports; only 'password' may stand there")]
    SecretInQuery,
    /// A pair of the query has no name, or a second `?` stands in it.
    #[error("its query is misspelt; write ?name=value&name=value, and %3F for a '?' within a value")]
    Query,
    /// There is a password before the `@` and one in the query.
    #[error("it holds two passwords; keep the one before the '@' or the one in the query")]
    TwoPasswords,
}

/// Words in a query's names that tell a secret.
const SECRET_WORDS: [&str; 6] = ["password", "passwd", "passphrase", "pwd", "secret", "token"];

pub(super) fn parse(text: &str) -> Result<Target, BadTarget> {
    if text.chars().any(char::is_control) {
        return Err(BadTarget::Control);
    }
    let (scheme, rest) = split_scheme(text)?;
    let (before_query, query) = match rest.split_once('?') {
        Some((before, query)) => (before, Some(query)),
        None => (rest, None),
    };
    let mut target = Target {
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

fn split_scheme(text: &str) -> Result<(String, &str), BadTarget> {
    let (scheme, rest) = text.split_once(':').ok_or(BadTarget::Scheme)?;
    let name = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let good = scheme.starts_with(|first: char| first.is_ascii_alphabetic()) && scheme.bytes().all(name);
    if good { Ok((scheme.to_ascii_lowercase(), rest)) } else { Err(BadTarget::Scheme) }
}

/// Reads `user:password@hosts/path`, what follows `//`.
fn read_address(target: &mut Target, address: &str) -> Result<(), BadTarget> {
    let (authority, path) = address.split_at(address.find('/').unwrap_or(address.len()));
    // A '/' in a password cuts the authority short and leaves the '@' in the path, where it would be shown.
    if path.contains('@') {
        return Err(BadTarget::StrayAt);
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

/// See [`Target::with_endpoints`].
pub(super) fn with_endpoints(target: &Target, list: &str) -> Result<Target, BadTarget> {
    // In a target these would end the hosts, or begin them: they would be shown as something else than they are.
    if list.contains(['/', '?', '@']) || list.chars().any(char::is_control) {
        return Err(BadTarget::Host);
    }
    let (scheme, rest) = target.text.split_once(':').ok_or(BadTarget::Host)?;
    let rest = rest.strip_prefix("//").ok_or(BadTarget::Host)?;
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let user = authority.rsplit_once('@').map_or(String::new(), |(user, _)| format!("{user}@"));
    let mut other = target.clone();
    other.endpoints = read_endpoints(list)?;
    other.text = format!("{scheme}://{user}{}{path}", list.trim());
    Ok(other)
}

fn read_login(target: &mut Target, login: &str) -> Result<(), BadTarget> {
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    if !user.is_empty() {
        target.user = Some(decode(user)?);
        target.text.push_str(user);
        target.text.push('@');
    }
    if !password.is_empty() {
        target.password = Some(Secret::new(decode(password)?));
    }
    Ok(())
}

fn read_endpoint(text: &str) -> Result<Endpoint, BadTarget> {
    let (host, port) = if let Some(inner) = text.strip_prefix('[') {
        let (host, after) = inner.split_once(']').ok_or(BadTarget::Host)?;
        match after.strip_prefix(':') {
            Some(port) => (host, Some(port)),
            None if after.is_empty() => (host, None),
            None => return Err(BadTarget::Host),
        }
    } else {
        match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        }
    };
    let port = port.map(read_port).transpose()?;
    let host = decode(host)?;
    if host.is_empty() { Err(BadTarget::Host) } else { Ok(Endpoint { host, port }) }
}

fn read_port(text: &str) -> Result<u16, BadTarget> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| digits && *port > 0).ok_or(BadTarget::Port)
}

fn read_bare_path(target: &mut Target, path: &str) -> Result<(), BadTarget> {
    // 'user/password@service' is an old habit; a path of the file system begins with '.' or '/'.
    if path.contains('@') && !path.starts_with(['.', '/']) {
        return Err(BadTarget::StrayAt);
    }
    target.text.push_str(path);
    target.path = decode(path)?;
    Ok(())
}

fn read_query(target: &mut Target, query: &str) -> Result<(), BadTarget> {
    let mut separator = '?';
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if name.is_empty() || value.contains('?') {
            return Err(BadTarget::Query);
        }
        let (name, value) = (decode(name)?, decode(value)?);
        let lower = name.to_ascii_lowercase();
        if lower == "password" {
            if target.password.replace(Secret::new(value)).is_some() {
                return Err(BadTarget::TwoPasswords);
            }
            continue;
        }
        // An '@' here may end a password that was cut short by its own '?'.
        if pair.contains('@') {
            return Err(BadTarget::StrayAt);
        }
        if lower == "pass" || SECRET_WORDS.iter().any(|word| lower.contains(word)) {
            return Err(BadTarget::SecretInQuery);
        }
        target.query.push((name, value));
        target.text.push(separator);
        target.text.push_str(pair);
        separator = '&';
    }
    Ok(())
}

/// Decodes percent escapes (RFC 3986, section 2.1).
fn decode(text: &str) -> Result<String, BadTarget> {
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
