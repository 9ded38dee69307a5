//! The commented file to start from.

use std::fmt::Write as _;

use super::quote::quoted;
use crate::kind::Kind;
use crate::param::Param;
use crate::table::Table;

const HEAD: &str = "\
# Configuration of slob. Lines are KEY=value; '#' begins a comment; nothing here is executed.
# The environment (SLOB_<KEY>) overrides this file, and the command line overrides both.
";

/// Writes a file with every parameter, its meaning, range and defaults. Read back as it is, it gives the
/// shipped defaults: parameters that are unset, secret or without effect stand there commented out.
#[must_use]
pub fn init_text(table: &Table) -> String {
    let mut text = String::from(HEAD);
    let mut group = None;
    for param in table.params() {
        if group.replace(param.group) != Some(param.group) {
            // Writing to a String can't fail, here and below.
            let _ = write!(text, "\n# ---- {} ----\n", param.group);
        }
        write_param(&mut text, param);
    }
    text
}

fn write_param(text: &mut String, param: &Param) {
    let Param { key, meaning, .. } = param;
    let _ = writeln!(text, "\n# {meaning}");
    if let Some(note) = param.note {
        let _ = writeln!(text, "# No effect: {note}\n#{key}=");
        return;
    }
    let _ = writeln!(text, "# Permitted: {}", param.kind.permitted());
    let _ = write!(text, "# Default: {}", param.shown_default(param.shipped));
    match param.if_deleted {
        Some(default) if Some(default) != param.shipped => {
            let _ = writeln!(text, "; {default} if this line is deleted");
        }
        _ => text.push('\n'),
    }
    let _ = match param.shipped {
        Some(default) if param.kind != Kind::Secret => writeln!(text, "{key}={}", quoted(default)),
        _ => writeln!(text, "#{key}="),
    };
}
