//! What of a capture is nobody else's business: passwords always, names of hosts unless they are asked for.

use std::net::IpAddr;

use serde_json::Value as Json;
use slob_spec::{Settings, Value};

/// Shorter ones may be any word; a password that short is not in our texts either.
const SHORTEST_SECRET: usize = 3;

/// Texts and what stands for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Veil {
    secrets: Vec<String>,
    names: Vec<String>,
}

impl Veil {
    /// Of what the settings know; `hostname` is that of this machine.
    pub(crate) fn new(settings: &Settings, hostname: &str, with_names: bool) -> Self {
        let mut veil = Self::default();
        for value in settings.entries().filter_map(|entry| entry.value()) {
            match value {
                Value::Secret(secret) => veil.hide(secret.expose()),
                Value::Target(target) => {
                    target.password().into_iter().for_each(|password| veil.hide(password.expose()));
                    target.endpoints().iter().for_each(|endpoint| veil.name(&endpoint.host));
                    veil.names_in(target.path());
                }
                Value::Text(text) => veil.names_in(text),
                _ => {}
            }
        }
        veil.name(hostname);
        if with_names {
            veil.names.clear();
        }
        veil
    }

    fn hide(&mut self, secret: &str) {
        if secret.len() >= SHORTEST_SECRET {
            self.secrets.push(secret.to_owned());
        }
    }

    /// A host of this machine alone is none.
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

    /// Addresses such as //host:port/service.
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

    /// A text without them.
    pub(crate) fn over(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.secrets {
            text = text.replace(secret.as_str(), "********");
        }
        for (name, number) in self.names.iter().zip(1..) {
            text = replace_word(&text, name, &format!("host-{number}"));
        }
        text
    }

    /// The same of every text in a value.
    pub(crate) fn over_all(&self, value: &mut Json) {
        match value {
            Json::String(text) => *text = self.over(text),
            Json::Array(values) => values.iter_mut().for_each(|value| self.over_all(value)),
            Json::Object(fields) => fields.values_mut().for_each(|value| self.over_all(value)),
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
        }
    }
}

/// Where it is a word of its own: a host `db` is not that of `db_block_size`.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    fn veil(flags: &[(&str, &str)], with_names: bool) -> Veil {
        let flags: Vec<(String, String)> =
            flags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let settings = Settings::resolve(&registry::table(), None, &[], &flags).unwrap().settings;
        Veil::new(&settings, "client7", with_names)
    }

    #[test]
    fn passwords_and_hosts_are_hidden_and_words_that_hold_them_are_not() {
        let flags = [("TARGET", "postgres://u:S3CRET-word@db,127.0.0.1/d"), ("SYSDBA_PASSWD", "Tig3r-word")];
        let text = "S3CRET-word Tig3r-word db db_block_size mydb db.x client7 127.0.0.1 dbdb";
        let hidden = veil(&flags, false).over(text);
        assert_eq!(hidden, "******** ******** host-1 db_block_size mydb host-1.x host-2 127.0.0.1 dbdb");
        let named = veil(&flags, true).over(text);
        assert!(named.starts_with("******** ******** db ") && named.contains("client7"), "{named}");
    }

    #[test]
    fn hosts_in_services_are_names_too() {
        let veil =
            veil(&[("TARGET", "oracle://u@//prod1:1521/s"), ("ADMIN_SQLNET_SERVICE", "//prod2/s")], false);
        assert_eq!(veil.over("//prod1:1521/s //prod2/s s"), "//host-1:1521/s //host-2/s s");
    }
}
