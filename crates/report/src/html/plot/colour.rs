//! Colours by their meaning.

/// Colours that there are for variants.
const VARIANTS: usize = 8;

/// A colour by its meaning: the same thing has the same colour in every chart. The style sheet holds the colours
/// themselves, as `--c-<name>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    /// Physical reads, and SELECTs.
    Reads,
    /// Visits of the buffer cache.
    Logical,
    /// The block device.
    Device,
    /// UPDATEs and writes.
    Updates,
    /// Short scans.
    Scans,
    /// The log.
    Redo,
    /// CPU time in user mode.
    User,
    /// CPU time in the kernel.
    System,
    /// CPU time of interrupts.
    Interrupts,
    /// CPU time that the hypervisor took.
    Stolen,
    /// CPUs that were idle while I/O was outstanding.
    Waiting,
    /// CPU of the database.
    Database,
    /// All of the first of two runs.
    First,
    /// All of the second of two runs.
    Second,
    /// Latencies from the median to the maximum, darker with the percentile: 0 to 4.
    Latency(u8),
    /// One of several variants, by its place; after eight they begin again.
    Variant(usize),
}

impl Colour {
    /// Whether an earlier variant has the same colour, so that something else must tell them apart.
    pub(super) fn is_repeated(self) -> bool {
        matches!(self, Self::Variant(place) if place >= VARIANTS)
    }

    /// As the page's script looks for it.
    pub(super) fn token(self) -> String {
        let name = match self {
            Self::Reads => "reads",
            Self::Logical => "logical",
            Self::Device => "device",
            Self::Updates => "updates",
            Self::Scans => "scans",
            Self::Redo => "redo",
            Self::User => "user",
            Self::System => "system",
            Self::Interrupts => "interrupts",
            Self::Stolen => "stolen",
            Self::Waiting => "waiting",
            Self::Database => "database",
            Self::First => "first",
            Self::Second => "second",
            Self::Variant(place) => return format!("$variant{}", place % VARIANTS),
            Self::Latency(step) => return format!("$latency{}", step.min(4)),
        };
        format!("${name}")
    }
}
