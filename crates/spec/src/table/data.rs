//! The data that `setup` loads.

use crate::kind::Kind;
use crate::param::{Group, Param};
use crate::types::MAX_SCALE_BLOCKS;

/// The smallest scale in blocks: small enough for a demonstration.
const MIN_SCALE_BLOCKS: u64 = 16;
/// The most streams that load at once.
const MAX_STREAMS: u64 = 4096;

pub(super) static PARAMS: &[Param] = &[
    Param::new(
        "SCALE",
        Kind::Size { min: MIN_SCALE_BLOCKS, max: MAX_SCALE_BLOCKS },
        Group::Data,
        "size of each schema's main table; a run covers what is loaded unless this is set",
    )
    .shipped("80M")
    .if_deleted("10000")
    .original("at least 10000 blocks; pgio at least 1024")
    .flag("scale"),
    Param::new(
        "SCAN_TABLE_SZ",
        Kind::Size { min: 0, max: MAX_SCALE_BLOCKS },
        Group::Data,
        "size of each schema's table for short scans; 0 makes none",
    )
    .shipped("1M")
    .flag("scan-table-sz"),
    Param::new(
        "LOAD_PARALLEL_DEGREE",
        Kind::Count { min: 1, max: MAX_STREAMS },
        Group::Data,
        "parallel streams for loading; unset, twice the CPUs if the server waits for each block it writes",
    )
    .shipped("2")
    .flag("load-parallel-degree"),
    Param::new("OBFUSCATE_COLUMNS", Kind::Flag, Group::Data, "fill rows with incompressible data")
        .shipped("FALSE")
        .if_deleted("FALSE")
        .original("an environment variable only")
        .flag("obfuscate-columns")
        .bare_environment(),
    Param::new(
        "BLOCK_SZ",
        Kind::Choice(BLOCK_SIZES),
        Group::Data,
        "block size in bytes, to convert sizes to blocks; unset, the server's own (8192 where no server is asked)",
    )
    .original("an environment variable only")
    .flag("block-sz")
    .bare_environment(),
    Param::new(
        "TABLESPACE",
        Kind::Text,
        Group::Data,
        "tablespace for the tables, on servers that have them",
    )
    .original("an argument of setup.sh")
    .flag("tablespace"),
];

/// Powers of two, so that MiB divide into whole blocks.
static BLOCK_SIZES: &[(&str, &str)] =
    &[("1024", ""), ("2048", ""), ("4096", ""), ("8192", ""), ("16384", ""), ("32768", ""), ("65536", "")];
