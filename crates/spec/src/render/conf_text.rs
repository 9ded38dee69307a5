//! The effective configuration as a `slob.conf`.

use std::fmt::Write as _;

use super::quote::quoted;
use crate::settings::Settings;

/// Writes the settings as a file that gives the same settings when it is read back, except for passwords:
/// a secret is left out with a comment in its place, and a target is written without its password.
#[must_use]
pub fn to_conf_text(settings: &Settings) -> String {
    let mut text = String::from("# The effective configuration. Passwords are never written.\n");
    let mut group = None;
    for entry in settings.entries() {
        let Some(value) = entry.value() else { continue };
        let param = entry.param();
        if group.replace(param.group) != Some(param.group) {
            // Writing to a String can't fail, here and below.
            let _ = write!(text, "\n# {}\n", param.group);
        }
        let _ = if value.is_secret() {
            writeln!(text, "# {} is not written", param.key)
        } else {
            writeln!(text, "{}={}", param.key, quoted(&value.to_string()))
        };
    }
    text
}
