//! What `setup` loads.

use std::num::NonZeroU32;

use serde::Serialize;

use super::{Checked, access};
use crate::error::SpecErrors;
use crate::options::EngineOptions;
use crate::settings::Settings;
use crate::table::DEFAULT_BLOCK_BYTES;
use crate::types::{Size, Target};

/// The data to load, and where. Made by [`LoadSpec::from_settings`] only.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct LoadSpec {
    /// The database.
    pub target: Target,
    /// Schemas to make: 1 to 65,535.
    pub schemas: NonZeroU32,
    /// Size of each schema's main table.
    pub scale: Size,
    /// Size of each schema's table for short scans, at least one block; `None` makes none.
    pub scan_table: Option<Size>,
    /// Streams that load at once.
    pub streams: NonZeroU32,
    /// Whether somebody set them; else a server may get as many as it gains from.
    pub streams_are_set: bool,
    /// The seed; `None` lets the loader draw one and record it.
    pub seed: Option<u64>,
    /// Whether rows are filled with data that can't be compressed.
    pub obfuscate: bool,
    /// The server's tablespace.
    pub tablespace: Option<String>,
    /// The size of the server's blocks in bytes, if somebody said what it is to be.
    pub block_sz: Option<u32>,
    /// The engines' own options.
    pub options: EngineOptions,
}

impl LoadSpec {
    /// Takes what concerns a load out of the settings.
    ///
    /// # Errors
    /// Contradictions between parameters.
    pub fn from_settings(settings: &Settings) -> Result<Checked<Self>, SpecErrors> {
        let mut errors = Vec::new();
        let spec = Self {
            target: access::target(settings, &mut errors)?,
            schemas: settings.required("SCHEMAS")?,
            scale: settings.required("SCALE")?,
            scan_table: scan_table(settings)?,
            streams: settings.required("LOAD_PARALLEL_DEGREE")?,
            streams_are_set: settings
                .entry("LOAD_PARALLEL_DEGREE")
                .is_some_and(|entry| entry.origin().is_set()),
            seed: seed(settings)?,
            obfuscate: settings.required("OBFUSCATE_COLUMNS")?,
            tablespace: settings.optional("TABLESPACE"),
            block_sz: settings.block_sz(),
            options: EngineOptions::from_settings(settings),
        };
        access::check_services(settings, &mut errors);
        SpecErrors::check(errors)?;
        Ok(Checked { spec, warnings: Vec::new() })
    }

    /// The block size that sizes are divided by, in bytes, as long as no server was asked.
    #[must_use]
    pub fn block_bytes(&self) -> u32 {
        self.block_sz.unwrap_or(DEFAULT_BLOCK_BYTES)
    }

    /// Blocks of each schema's main table.
    #[must_use]
    pub fn scale_blocks(&self) -> u64 {
        self.scale.blocks(self.block_bytes())
    }
}

/// The table for short scans; a size of less than one block makes none.
pub(super) fn scan_table(settings: &Settings) -> Result<Option<Size>, SpecErrors> {
    let size: Size = settings.required("SCAN_TABLE_SZ")?;
    Ok(Some(size).filter(|size| size.blocks(settings.block_bytes()) > 0))
}

/// The seed; 0 stands for none.
pub(super) fn seed(settings: &Settings) -> Result<Option<u64>, SpecErrors> {
    let seed: u64 = settings.required("SEED")?;
    Ok(Some(seed).filter(|seed| *seed != 0))
}
