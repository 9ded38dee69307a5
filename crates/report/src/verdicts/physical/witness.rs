//! Who saw below the page cache what was read.

use slob_record::Record;

use crate::counters::{own_read_bytes, ratio};

/// Where a witness stands, from the database downwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The kernel's count of what it had to fetch for the database's own processes. Others' reads are not in it.
    Process,
    /// The device that carries the file system, for everybody: an upper bound of what it read for the database.
    Device,
    /// All disks below that device, for everybody.
    Disks,
}

/// Bytes read at one place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Witness {
    pub(super) place: Place,
    read_bytes: u64,
}

impl Witness {
    /// All there are, the most telling first: others' reads at the device must not hide what a cache served.
    pub(super) fn all(record: &Record) -> Vec<Self> {
        let counters = record.host.as_ref().and_then(|host| host.device.as_ref()?.counters);
        let places = [
            (Place::Process, own_read_bytes(record)),
            (Place::Device, counters.map(|counters| counters.used.read_bytes)),
            (Place::Disks, counters.and_then(|counters| counters.disk_read_bytes)),
        ];
        let known = |(place, bytes): (Place, Option<u64>)| Some(Self { place, read_bytes: bytes? });
        places.into_iter().filter_map(known).collect()
    }

    pub(super) fn name(&self) -> &'static str {
        match self.place {
            Place::Process => "storage",
            Place::Device => "device",
            Place::Disks => "disks",
        }
    }

    /// What was read here, as a share of what was asked for; `None` if that was nothing.
    pub(super) fn share(&self, bytes: u64) -> Option<f64> {
        ratio(self.read_bytes as f64, bytes as f64)
    }
}
