//! What decides how much a run does, and within which limits.

use serde::{Deserialize, Serialize};

const MOST_BLOCKS: u16 = 1024;
/// From this rate on chance among arrivals is small beside what is compared.
pub(crate) const POISSON_FROM: f64 = 300.0;

/// What decides how much is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameters {
    /// RATE.
    pub rate: u32,
    /// ARRIVALS=poisson; else steady.
    pub poisson: bool,
    /// UPDATE_PCT.
    pub update_pct: u8,
    /// SCAN_PCT.
    pub scan_pct: u8,
    /// WORK_UNIT.
    pub work_unit: u16,
    /// UPDATE_WORK_UNIT.
    pub update_work_unit: u16,
    /// REDO_STRESS=HEAVY; else LITE.
    pub heavy: bool,
    /// SCHEMAS.
    pub schemas: u32,
    /// THREADS_PER_SCHEMA.
    pub threads: u32,
}

impl Parameters {
    /// The same for so many times the demand: rate and sessions.
    #[must_use]
    pub fn times(&self, factor: f64, limits: &Limits) -> Self {
        // A float becomes an integer by saturation.
        let rate = (f64::from(self.rate) * factor).round().max(1.0) as u32;
        let wanted = (f64::from(self.schemas * self.threads) * factor).ceil() as u32;
        let threads = limits.threads(wanted.max(self.schemas * self.threads));
        Self { rate, threads, poisson: f64::from(rate) >= POISSON_FROM, ..*self }
    }

    /// Blocks of the main tables that are visited, per second.
    pub(crate) fn visited_per_s(&self) -> f64 {
        let Rates { updates, selects, .. } = Rates::of(self);
        selects * f64::from(self.work_unit) + updates * f64::from(self.update_work_unit)
    }

    /// As lines of `slob.conf`.
    #[must_use]
    pub fn pairs(&self) -> Vec<(&'static str, String)> {
        let word = |is, yes: &str, no: &str| if is { yes } else { no }.to_owned();
        vec![
            ("SCHEMAS", self.schemas.to_string()),
            ("THREADS_PER_SCHEMA", self.threads.to_string()),
            ("RATE", self.rate.to_string()),
            ("ARRIVALS", word(self.poisson, "poisson", "steady")),
            ("UPDATE_PCT", self.update_pct.to_string()),
            ("SCAN_PCT", self.scan_pct.to_string()),
            ("WORK_UNIT", self.work_unit.to_string()),
            ("UPDATE_WORK_UNIT", self.update_work_unit.to_string()),
            ("REDO_STRESS", word(self.heavy, "HEAVY", "LITE")),
        ]
    }
}

/// What the loaded data and the server allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Schemas that are loaded.
    pub schemas: u32,
    /// Blocks of each table for short scans; 0 if there is none.
    pub scan_blocks: u64,
    /// Blocks of each main table: no operation is larger.
    pub scale_blocks: u64,
    /// The most sessions.
    pub most_sessions: u32,
}

impl Limits {
    pub(crate) fn threads(&self, sessions: u32) -> u32 {
        let most = (self.most_sessions / self.schemas.max(1)).max(1);
        sessions.div_ceil(self.schemas.max(1)).clamp(1, most)
    }

    pub(crate) fn most_blocks(&self) -> u16 {
        u16::try_from(self.scale_blocks).unwrap_or(MOST_BLOCKS).clamp(1, MOST_BLOCKS)
    }
}

/// Operations per second by kind.
pub(crate) struct Rates {
    pub(crate) updates: f64,
    pub(crate) selects: f64,
    pub(crate) scans: f64,
}

impl Rates {
    pub(crate) fn of(parameters: &Parameters) -> Self {
        let rate = f64::from(parameters.rate);
        let updates = rate * f64::from(parameters.update_pct) / 100.0;
        let scans = (rate - updates) * f64::from(parameters.scan_pct) / 100.0;
        Self { updates, scans, selects: rate - updates - scans }
    }
}
