//! What the load at a target decided, so that nobody has to say it again.

use slob_engine::{Engine, Load, SchemaState};
use slob_spec::Size;

use crate::RunError;

/// Bytes of a MiB.
const MIB: u64 = 1 << 20;

/// The load at a target: its decisions, and how many schemas it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// What it was begun as.
    pub load: Load,
    /// Schemas from 1 on without a gap, complete or not.
    pub schemas: u32,
    /// Bytes of a block.
    pub block_bytes: u32,
}

impl Loaded {
    /// Asks a target what is loaded there; `None` if nothing is, or if the engine stores no data. Nothing is changed.
    ///
    /// # Errors
    /// If the server can't be asked.
    pub fn at(engine: &dyn Engine) -> Result<Option<Self>, RunError> {
        let server = engine.server().map_err(|error| RunError::while_preparing(&error))?;
        if !server.capabilities.stores_data {
            return Ok(None);
        }
        let states = engine.schemas().map_err(|error| RunError::while_preparing(&error))?;
        Ok(Self::of(&states, server.block_bytes))
    }

    /// Of the states of a target's schemas, in their order.
    fn of(states: &[SchemaState], block_bytes: u32) -> Option<Self> {
        let load = states.first()?.load;
        let without_gap =
            states.iter().zip(1_u32..).take_while(|(state, number)| u32::from(state.schema.get()) == *number);
        let schemas = u32::try_from(without_gap.count()).unwrap_or(u32::MAX);
        (schemas > 0).then_some(Self { load, schemas, block_bytes })
    }

    /// The size of each main table, as a text of `slob.conf`.
    #[must_use]
    pub fn scale(&self) -> String {
        self.size(self.load.scale)
    }

    /// The parameters that a run has in common with the load, as texts of `slob.conf`.
    #[must_use]
    pub fn of_run(&self) -> Vec<(&'static str, String)> {
        let schemas = ("SCHEMAS", self.schemas.to_string());
        [schemas].into_iter().chain(self.sizes()).collect()
    }

    /// The parameters that a load of more schemas has in common with it, as texts of `slob.conf`.
    #[must_use]
    pub fn of_load(&self) -> Vec<(&'static str, String)> {
        let obfuscated = if self.load.obfuscated { "TRUE" } else { "FALSE" };
        self.sizes().into_iter().chain([("OBFUSCATE_COLUMNS", obfuscated.to_owned())]).collect()
    }

    fn sizes(&self) -> [(&'static str, String); 2] {
        [("SCALE", self.scale()), ("SCAN_TABLE_SZ", self.size(self.load.scan_blocks))]
    }

    /// As people say it: in units of bytes if it is whole MiB, else in blocks.
    fn size(&self, blocks: u64) -> String {
        match blocks.checked_mul(u64::from(self.block_bytes)) {
            Some(bytes) if bytes > 0 && bytes.is_multiple_of(MIB) => Size::Bytes(bytes).to_string(),
            _ => Size::Blocks(blocks).to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_engine::LoadState;
    use slob_method::SchemaNo;

    fn states(numbers: &[u16], load: Load) -> Vec<SchemaState> {
        let state = |number: &u16| SchemaState {
            schema: SchemaNo::up_to(*number).last().unwrap(),
            load,
            filler_bytes: 0,
            state: LoadState::Begun(Vec::new()),
        };
        numbers.iter().map(state).collect()
    }

    #[test]
    fn sizes_are_said_as_they_were_asked_for_and_schemas_count_up_to_a_gap() {
        let load = Load { seed: 1, scale: 8192, scan_blocks: 100, obfuscated: true, slice_rows: 9 };
        let loaded = Loaded::of(&states(&[1, 2, 4], load), 8192).unwrap();
        let said = |pairs: Vec<(&'static str, String)>| {
            pairs.into_iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(said(loaded.of_run()), "SCHEMAS=2 SCALE=64M SCAN_TABLE_SZ=100");
        assert_eq!(said(loaded.of_load()), "SCALE=64M SCAN_TABLE_SZ=100 OBFUSCATE_COLUMNS=TRUE");
        assert_eq!(Loaded::of(&states(&[2], load), 8192), None);
        assert_eq!(Loaded::of(&[], 8192), None);
    }

    #[test]
    fn a_size_reads_back_as_the_same_blocks_whatever_their_size() {
        for block_bytes in [512, 8192, 16_384, 65_536] {
            for blocks in [0, 1, 100, 127, 128, 10_000, 131_072] {
                let load = Load { seed: 1, scale: blocks, scan_blocks: 0, obfuscated: false, slice_rows: 9 };
                let loaded = Loaded { load, schemas: 1, block_bytes };
                let size: Size = loaded.size(blocks).parse().unwrap();
                assert_eq!(size.blocks(block_bytes), blocks, "{block_bytes}");
            }
        }
    }
}
