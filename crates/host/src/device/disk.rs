//! A whole disk and the attributes that explain its results.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::BlockId;
use crate::roots::{attribute, number};

/// A whole disk at the bottom of a stack. What the kernel does not tell is `None`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    /// Name and number.
    #[serde(flatten)]
    pub id: BlockId,
    /// The maker's name for it.
    pub model: Option<String>,
    /// True for spinning disks, as far as the device (or hypervisor) says so.
    pub rotational: Option<bool>,
    /// The I/O scheduler in use.
    pub scheduler: Option<String>,
    /// Requests that the scheduler queues at most, for reads and for writes.
    pub nr_requests: Option<u32>,
    /// The smallest unit the device can be asked for.
    pub logical_block_bytes: Option<u32>,
    /// The smallest unit the device writes without reading first.
    pub physical_block_bytes: Option<u32>,
    /// Size of the device.
    pub size_bytes: Option<u64>,
}

impl Disk {
    /// The disk of a folder in `/sys/devices`.
    pub(super) fn read(id: BlockId, dir: &Path) -> Self {
        let queue = dir.join("queue");
        Self {
            id,
            model: attribute(&dir.join("device/model")),
            rotational: number::<u8>(&queue.join("rotational")).map(|flag| flag == 1),
            scheduler: attribute(&queue.join("scheduler")).map(|text| active_scheduler(&text)),
            nr_requests: number(&queue.join("nr_requests")),
            logical_block_bytes: number(&queue.join("logical_block_size")),
            physical_block_bytes: number(&queue.join("physical_block_size")),
            // The unit of `size` is 512 bytes, whatever the device's block is.
            size_bytes: number::<u64>(&dir.join("size")).and_then(|sectors| sectors.checked_mul(512)),
        }
    }
}

/// The one in brackets of `none [mq-deadline] kyber`; devices without a choice give a bare `none`.
fn active_scheduler(text: &str) -> String {
    let bracketed = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    bracketed.map_or(text, |(name, _)| name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheduler_in_use_is_the_one_in_brackets() {
        assert_eq!(active_scheduler("none [mq-deadline] kyber bfq"), "mq-deadline");
        assert_eq!(active_scheduler("[none]"), "none");
        assert_eq!(active_scheduler("none"), "none");
    }
}
