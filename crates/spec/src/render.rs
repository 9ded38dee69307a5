//! Settings and parameters as text: `slob.conf` and the document of parameters.

use crate::param::{Kind, Param};
use crate::settings::Settings;
use crate::table::Table;

/// The file gives the same settings without passwords. A comment replaces a secret.
pub fn to_conf_text(settings: &Settings) -> String {
    let mut text = String::from("# The effective configuration. Passwords are never written.\n");
    let mut group = None;
    for entry in settings.entries() {
        let Some(value) = entry.value() else { continue };
        let param = entry.param();
        if group.replace(param.group) != Some(param.group) {
            text += &format!("\n# {}\n", param.group);
        }
        text += &if value.is_secret() {
            format!("# {} is not written\n", param.key)
        } else {
            format!("{}={}\n", param.key, quoted(&value.to_string()))
        };
    }
    text
}

const INIT_HEAD: &str = "\
# Configuration of slob. Lines are KEY=value; '#' begins a comment; nothing here is executed.
# The environment (SLOB_<KEY>) overrides this file, and the command line overrides both.
";

/// The file gives the shipped defaults: unset, secret and ignored parameters are comments.
pub fn init_text(table: &Table) -> String {
    let mut text = String::from(INIT_HEAD);
    for group in groups(table) {
        text += &format!("\n# ---- {} ----\n", group[0].group);
        text.extend(group.iter().map(init_lines));
    }
    text
}

fn init_lines(param: &Param) -> String {
    let Param { key, meaning, .. } = param;
    if let Some(note) = param.note {
        return format!("\n# {meaning}\n# No effect: {note}\n#{key}=\n");
    }
    let (permitted, default) = (param.kind.permitted(), param.shown_default(param.shipped));
    let if_deleted = match param.if_deleted {
        Some(default) if Some(default) != param.shipped => format!("; {default} if this line is deleted"),
        _ => String::new(),
    };
    let assignment = match param.shipped {
        Some(default) if param.kind != Kind::Secret => format!("{key}={}", quoted(default)),
        _ => format!("#{key}="),
    };
    format!("\n# {meaning}\n# Permitted: {permitted}\n# Default: {default}{if_deleted}\n{assignment}\n")
}

fn groups(table: &Table) -> impl Iterator<Item = &[Param]> {
    table.params().chunk_by(|one, next| one.group == next.group)
}

const MARKDOWN_HEAD: &str = "\
# Parameters

Every parameter is a line of `slob.conf` (`KEY=value`), an environment variable (`SLOB_KEY`) and, where one
is named, a flag. Flags override the environment, the environment overrides the file, the file overrides the
defaults. *Default* applies where there is no file; *if deleted* where there is a file that lacks the key.
This page is generated from the program's own table.
";

const MARKDOWN_COLUMNS: &str = "\
| Parameter | Flag | Default | If deleted | Permitted | Meaning | The original |
| --- | --- | --- | --- | --- | --- | --- |
";

pub fn markdown(table: &Table) -> String {
    let mut text = String::from(MARKDOWN_HEAD);
    for group in groups(table) {
        text += &format!("\n## {}\n\n{MARKDOWN_COLUMNS}", group[0].group);
        text.extend(group.iter().map(markdown_row));
    }
    text
}

fn markdown_row(param: &Param) -> String {
    let keys: Vec<_> = param.keys().map(|key| format!("`{key}`")).collect();
    let default = |default: Option<&'static str>| match default {
        Some(_) => format!("`{}`", param.shown_default(default)),
        None => param.shown_default(None).to_owned(),
    };
    let (permitted, meaning) = match param.note {
        Some(note) => (String::new(), format!("{}: {note}", param.meaning)),
        None => (param.kind.permitted(), param.meaning.to_owned()),
    };
    let cells = [
        keys.join(" or "),
        param.flag().map(|flag| format!("`--{flag}`")).unwrap_or_default(),
        default(param.shipped),
        default(param.default_if_deleted()),
        permitted,
        meaning,
        param.original.unwrap_or_default().to_owned(),
    ];
    let cells = cells.map(|cell| format!("| {} ", cell.replace('|', "\\|")));
    format!("{}|\n", cells.concat())
}

/// The text is read back exactly. No parameter takes control characters.
fn quoted(value: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-+.,:/@%=".contains(c);
    if !value.is_empty() && value.chars().all(plain) {
        return value.to_owned();
    }
    if !value.contains('\'') {
        // A shell takes text in single quotes literally. Users expect double quotes otherwise.
        let quote = if value.contains(['$', '`', '"', '\\']) { '\'' } else { '"' };
        return format!("{quote}{value}{quote}");
    }
    let mut text = String::from('"');
    for c in value.chars() {
        if matches!(c, '"' | '\\' | '$' | '`') {
            text.push('\\');
        }
        text.push(c);
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conf::ConfFile;
    use proptest::prelude::*;

    #[test]
    fn values_are_quoted_only_if_needed() {
        assert_eq!(quoted("80M"), "80M");
        assert_eq!(quoted("db://u@h:1/x%20y?a=b"), "\"db://u@h:1/x%20y?a=b\"");
        assert_eq!(quoted(""), "\"\"");
        assert_eq!(quoted("a b"), "\"a b\"");
        assert_eq!(quoted("a$b"), "'a$b'");
        assert_eq!(quoted("it's $1"), "\"it's \\$1\"");
    }

    proptest! {
        #[test]
        fn any_value_reads_back(value in "\\P{Cc}*") {
            let file = ConfFile::parse("slob.conf", &format!("KEY={} # comment", quoted(&value))).unwrap();
            prop_assert_eq!(&file.assignments[0].value, &value);
        }
    }
}
