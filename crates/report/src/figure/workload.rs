//! What was set, as far as it is a number; and how long was measured.

use super::Get::{Number, Set, SetTime};

figures! { WORKLOAD:
    SESSIONS = "sessions", "Sessions", "", Neither, "schemas x threads",
        Set(|record| Some(record.workload.sessions().into()));
    SCHEMAS = "schemas", "Schemas", "", Neither, "SCHEMAS",
        Set(|record| Some(record.workload.schemas.into()));
    THREADS_PER_SCHEMA = "threads_per_schema", "Threads on each schema", "", Neither, "THREADS_PER_SCHEMA",
        Set(|record| Some(record.workload.threads_per_schema.into()));
    SCALE_BLOCKS = "scale_blocks", "Blocks of each schema", "blocks", Neither, "active data set of each schema",
        Set(|record| Some(record.workload.scale_blocks));
    BLOCK_BYTES = "block_bytes", "Bytes of a block", "bytes", Neither, "a block of the server",
        Set(|record| Some(record.server.block_bytes.into()));
    WORK_UNIT = "work_unit", "Blocks of a SELECT", "blocks", Neither, "blocks of a SELECT",
        Set(|record| Some(record.workload.work_unit.into()));
    UPDATE_WORK_UNIT = "update_work_unit", "Blocks of an UPDATE", "blocks", Neither, "blocks of an UPDATE",
        Set(|record| Some(record.workload.update_work_unit.into()));
    UPDATE_PCT = "update_pct", "UPDATEs among operations (%)", "%", Neither, "operations that are UPDATEs",
        Set(|record| Some(record.workload.update_pct.into()));
    SCAN_PCT = "scan_pct", "Scans among the others (%)", "%", Neither, "of the others: short scans",
        Set(|record| Some(record.workload.scan_pct.into()));
    SEED = "seed", "Seed", "", Neither, "seed of the plan",
        Set(|record| Some(record.workload.seed));
    RATE_PER_S = "rate_per_s", "Rate", "1/s", Neither, "RATE, in an open loop",
        Set(|record| record.workload.rate_per_s.map(u64::from));
    WINDOW_S = "window_s", "Measured window (s)", "s", Neither,
        "length of the measured window, by which rates are divided",
        Number(|run| Some(run.window_s));
    WARMUP_S = "warmup_s", "Warm-up (s)", "s", Neither, "the record",
        SetTime(|record| record.workload.warmup_s);
}
