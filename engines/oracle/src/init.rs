//! What prepares a database for tests: a parameter file, tablespaces, a calibration.

use slob_engine::{EngineError, Load, OpenSpec};
use slob_method::SchemaNo;

use crate::names::identifier;
use crate::options::Options;
use crate::script::Script;

/// Room for index and segment headers, as a share of the rows' blocks.
const OVERHEAD_PERCENT: u64 = 10;
/// Where tables go that were not told where to go.
const TABLESPACE: &str = "IOPS";

/// The parts, each with its own heading; parameters are comments, so that all of it can be read by SQL*Plus.
///
/// # Errors
/// If the engine's parameters can't be read.
pub(crate) fn script(spec: &OpenSpec, load: &Load, schemas: &[SchemaNo]) -> Result<String, EngineError> {
    let options = Options::from_spec(spec)?;
    let tablespace = options.tablespace.as_deref().map_or_else(|| TABLESPACE.to_owned(), identifier);
    let blocks = (load.scale + load.scan_blocks) * schemas.len() as u64;
    let bytes = blocks * (100 + OVERHEAD_PERCENT) / 100 * 8192;
    let mut script = Script::default();
    script.say("Part 1: parameters of a test database, for its parameter file; restart it afterwards.");
    script.say(
        "Not for production: they make reads small and caches useless, which is what a test of I/O needs.",
    );
    PARAMETERS.lines().for_each(|line| script.say(line));
    script.say("");
    script.say(&format!(
        "Part 2: a tablespace for {} schemas with {} blocks each, {} MiB with 8 KiB blocks. Needs OMF",
        schemas.len(),
        load.scale + load.scan_blocks,
        (bytes >> 20) + 1
    ));
    script.say("(db_create_file_dest); else name files after DATAFILE. Run it in the pluggable database.");
    script.add(&format!(
        "CREATE BIGFILE TABLESPACE {tablespace} DATAFILE SIZE {}M AUTOEXTEND ON NEXT 1G EXTENT MANAGEMENT LOCAL SEGMENT SPACE MANAGEMENT AUTO",
        (bytes >> 20) + 64
    ));
    script.say("");
    script.say("Part 3: redo logs for tests of updates, three of 4 GiB; then drop the small ones (V$LOG). In the root of a");
    script.say("container database; with several instances, three for each: ADD LOGFILE THREAD n.");
    (0..3).for_each(|_| script.add("ALTER DATABASE ADD LOGFILE SIZE 4G"));
    script.say("");
    script.say("Part 4: the server's own calibration, as SYSDBA, in quiet hours: it loads the storage for ten minutes.");
    script.say("It drives reads of a size and a number of its own past the buffer cache. What it calls MAX_IOPS is what");
    script.say("the storage gave it, not what a database's sessions get: no buffer cache, no redo, no writes, no latches");
    script.say(
        "and next to no CPU are in it. It knows no working set: arrays serve a part of it from their caches.",
    );
    script.say("It needs asynchronous I/O (filesystemio_options, disk_asynch_io). Set the number of disks, and SET SERVEROUTPUT ON.");
    script.add(CALIBRATE);
    Ok(script.text())
}

const PARAMETERS: &str = "\
  # A cache that holds next to nothing, so that each block is read; automatic sizes off.
  memory_target=0
  sga_target=0
  db_cache_size=64M
  shared_pool_size=1G
  pga_aggregate_target=1G
  # One block for each read request: no prefetch of blocks that an index leads to.
  _db_block_prefetch_limit=0
  _db_block_prefetch_quota=0
  _db_file_noncontig_mblock_read_count=0
  # Around the page cache of the operating system, and asynchronously.
  filesystemio_options=setall
  disk_asynch_io=true
  # Sessions: schemas times threads, and room for the server's own.
  processes=1024
  # Nothing that gets in between.
  recyclebin=off
  resource_manager_plan=''
  statistics_level=typical";

const CALIBRATE: &str = "\
DECLARE
    latency PLS_INTEGER;
    iops PLS_INTEGER;
    mbps PLS_INTEGER;
BEGIN
    DBMS_RESOURCE_MANAGER.CALIBRATE_IO(
        num_physical_disks => 1,
        max_latency => 20,
        max_iops => iops,
        max_mbps => mbps,
        actual_latency => latency
    );
    DBMS_OUTPUT.PUT_LINE('max_iops ' || iops || ', max_mbps ' || mbps || ', latency ' || latency || ' ms');
END;";

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::script::tests::{LOAD, spec};

    pub(crate) fn whole() -> String {
        let schemas: Vec<SchemaNo> = SchemaNo::up_to(4).collect();
        script(&spec(), &LOAD, &schemas).unwrap()
    }

    #[test]
    fn a_tablespace_holds_what_is_planned() {
        let text = whole();
        // 4 x (10,240 + 128) blocks of 8 KiB are 324 MiB; a tenth more, and 64.
        assert!(text.contains("CREATE BIGFILE TABLESPACE IOPS DATAFILE SIZE 420M"), "{text}");
        let executed: Vec<&str> =
            text.lines().filter(|line| line.contains('_') && !line.starts_with("--")).collect();
        assert!(!executed.iter().any(|line| line.contains("_db_")), "parameters are comments: {executed:?}");
    }
}
