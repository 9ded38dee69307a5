//! The wallet that Oracle's files name: the thin driver reads neither `sqlnet.ora` nor MY_WALLET_DIRECTORY.
#![cfg_attr(not(feature = "thin"), allow(dead_code))]

use std::path::{Path, PathBuf};

use slob_spec::Secret;

pub(crate) const FILE: &str = "ewallet.pem";

#[derive(Clone, Debug, Default)]
pub(crate) struct Wallet {
    pub(crate) folder: Option<String>,
    pub(crate) password: Option<Secret>,
}

/// The descriptor of a service wins over `sqlnet.ora`. A service is a net service name or a descriptor.
pub(crate) fn named_by_files(service: &str, admin: Option<&Path>) -> Option<String> {
    let read = |name: &str| std::fs::read_to_string(admin?.join(name)).ok();
    let of_descriptor =
        |text: &str| ["MY_WALLET_DIRECTORY", "WALLET_LOCATION"].iter().find_map(|key| inner(text, key));
    let of_name = || of_descriptor(&parameter(&read("tnsnames.ora")?, service)?);
    // Clouds write a question mark for the folder in which `sqlnet.ora` lies.
    let of_sqlnet = || {
        let folder = inner(&parameter(&read("sqlnet.ora")?, "WALLET_LOCATION")?, "DIRECTORY")?;
        if folder.starts_with('?') { None } else { Some(folder) }
    };
    of_descriptor(service).or_else(of_name).or_else(of_sqlnet)
}

pub(crate) fn has_key(folder: &str) -> bool {
    let file = PathBuf::from(folder).join(FILE);
    std::fs::read_to_string(file).is_ok_and(|text| text.contains("PRIVATE KEY-----"))
}

/// A value ends with its parentheses, or its line.
fn parameter(text: &str, name: &str) -> Option<String> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let text = lines.collect::<Vec<_>>().join("\n");
    let mut rest = text.as_str();
    while let Some((names, value)) = rest.split_once('=') {
        let value = value.trim_start_matches([' ', '\t', '\r', '\n']);
        let end =
            if value.starts_with('(') { closed(value)? } else { value.find('\n').unwrap_or(value.len()) };
        if names.split(',').any(|own| own.trim().eq_ignore_ascii_case(name)) {
            return Some(value[..end].to_owned());
        }
        rest = &value[end..];
    }
    None
}

fn closed(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (place, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' if depth <= 1 => return Some(place + 1),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn inner(text: &str, key: &str) -> Option<String> {
    let pairs = text.split('(').filter_map(|pair| pair.split_once('='));
    let mut values = pairs.filter(|(name, _)| name.trim().eq_ignore_ascii_case(key));
    let (value, _) = values.next()?.1.split_once(')')?;
    let value = value.trim().trim_matches(['"', '\'']);
    (!value.is_empty()).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NAMES: &str = "# of a cloud\nother, SLOB_tp =\n (DESCRIPTION = # by TLS\n  (ADDRESS=(PROTOCOL=TCPS)(HOST=h)(PORT=1))\n\
        (SECURITY = (my_wallet_directory = \"/opt/wallet one\") (SSL_SERVER_DN_MATCH=yes)))\nplain = //h/s\n";
    const SQLNET: &str = "SQLNET.EXPIRE_TIME = 10\nWALLET_LOCATION = (SOURCE = (METHOD = file)\n (METHOD_DATA = (DIRECTORY=/opt/two)))\n";

    fn folder(names: &str, sqlnet: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("tnsnames.ora"), names).unwrap();
        std::fs::write(folder.path().join("sqlnet.ora"), sqlnet).unwrap();
        folder
    }

    #[test]
    fn the_descriptor_names_a_wallet_before_sqlnet_ora() {
        let found =
            |service: &str, names, sqlnet| named_by_files(service, Some(folder(names, sqlnet).path()));
        assert_eq!(found("slob_TP", NAMES, SQLNET).as_deref(), Some("/opt/wallet one"));
        assert_eq!(found("plain", NAMES, SQLNET).as_deref(), Some("/opt/two"));
        assert_eq!(found("//h/s", "", SQLNET).as_deref(), Some("/opt/two"));
        let of_cloud = SQLNET.replace("/opt/two", "?/network/admin");
        assert_eq!(found("plain", NAMES, of_cloud.as_str()), None);
        assert_eq!(found("plain", NAMES, ""), None);
        let descriptor = "(DESCRIPTION=(SECURITY=(MY_WALLET_DIRECTORY=/w)))";
        assert_eq!(named_by_files(descriptor, None).as_deref(), Some("/w"));
    }

    proptest! {
        #[test]
        fn damaged_files_are_no_panic(names in "[a=()# \n,\"é]{0,60}", sqlnet in "\\PC{0,40}", service in "[a(=)]{0,9}") {
            let _ = named_by_files(&service, Some(folder(&names, &(SQLNET.to_owned() + &sqlnet)).path()));
            let _ = parameter(&sqlnet, "a");
        }
    }
}
