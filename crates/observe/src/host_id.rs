//! Telling hosts apart, whatever they are called.

use std::fs;

/// The kernel's name for this boot: two observers that tell the same one are on one host.
pub(crate) fn boot() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned())
}

/// The numbering of processes that this process is in; who is in the same one means the same process by a number.
pub(crate) fn numbering() -> Option<String> {
    let link = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(link.to_string_lossy().into_owned())
}
