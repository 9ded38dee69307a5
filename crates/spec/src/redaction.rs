//! Hiding the passwords and hosts of settings in texts.

use std::net::IpAddr;

use crate::{Settings, Value};

const SHORTEST_SECRET: usize = 3;

/// A published text must not have them.
#[derive(Clone, Debug, Default)]
pub struct Redaction {
    secrets: Vec<String>,
    names: Vec<String>,
}

impl Redaction {
    /// `with_names` keeps hosts and this machine, `hostname`.
    pub fn new(settings: &Settings, hostname: &str, with_names: bool) -> Self {
        let mut redaction = Self::default();
        for value in settings.entries().filter_map(|entry| entry.value()) {
            match value {
                Value::Secret(secret) => redaction.hide(secret.expose()),
                Value::Target(target) => {
                    target.password().into_iter().for_each(|password| redaction.hide(password.expose()));
                    target.endpoints().iter().for_each(|endpoint| redaction.name(&endpoint.host));
                    redaction.names_in(target.path());
                }
                Value::Text(text) => redaction.names_in(text),
                _ => {}
            }
        }
        redaction.name(hostname);
        if with_names {
            redaction.names.clear();
        }
        redaction
    }

    fn hide(&mut self, secret: &str) {
        if secret.len() >= SHORTEST_SECRET {
            self.secrets.push(secret.to_owned());
        }
    }

    /// Loopback addresses identify no host.
    fn name(&mut self, host: &str) {
        let is_loopback = host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        if !host.is_empty()
            && host != "localhost"
            && !is_loopback
            && !self.names.iter().any(|name| name == host)
        {
            self.names.push(host.to_owned());
        }
    }

    /// Addresses are such as //host:port/service.
    fn names_in(&mut self, text: &str) {
        for rest in text.split("//").skip(1) {
            let hosts = rest.split('/').next().unwrap_or_default();
            for host in hosts.split(',') {
                let host = host
                    .strip_prefix('[')
                    .and_then(|host| host.split(']').next())
                    .unwrap_or_else(|| host.split(':').next().unwrap_or_default());
                self.name(host);
            }
        }
    }

    /// Hosts become `host-1` and so on.
    pub fn redact(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.secrets {
            text = text.replace(secret.as_str(), "********");
        }
        for (name, number) in self.names.iter().zip(1..) {
            text = replace_word(&text, name, &format!("host-{number}"));
        }
        text
    }
}

/// The host `db` is not in `db_block_size`.
fn replace_word(text: &str, word: &str, stand_in: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let (mut result, mut rest) = (String::new(), text);
    while let Some(place) = rest.find(word) {
        let (before, after) = (&rest[..place], &rest[place + word.len()..]);
        let alone = !before.ends_with(is_part) && !after.starts_with(is_part);
        let joined = before.is_empty() && result.ends_with(is_part);
        result.push_str(before);
        result.push_str(if alone && !joined { stand_in } else { word });
        rest = after;
    }
    result + rest
}
