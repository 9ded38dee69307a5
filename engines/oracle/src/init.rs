//! What prepares a database for tests: a parameter file, tablespaces, a calibration.

use slob_engine::{EngineError, ErrorKind, OpenSpec, PlannedLoad};

use crate::load::refuse_block;
use crate::names::identifier;
use crate::options::Options;
use crate::script::Script;

/// Room for index and segment headers, as a share of the rows' blocks.
const OVERHEAD_PERCENT: u64 = 10;
/// Room for what is neither row nor overhead, in MiB.
const ROOM_MIB: u64 = 64;
/// What a bigfile tablespace holds at most (Database Reference, physical database limits).
const MAX_BLOCKS: u64 = 1 << 32;
/// What the shared pool holds without sessions, and for each of them, in MiB.
const SHARED_POOL_MIB: u32 = 1024;
const SESSION_MIB: u32 = 1;
/// Processes besides the sessions: the server's own, a load's and the administrators'.
const OTHER_PROCESSES: u32 = 256;
/// The usual size of blocks, which have the default cache.
const USUAL_BLOCK: u32 = 8192;
/// Where tables go that were not told where to go.
const TABLESPACE: &str = "IOPS";

/// The parts, each with its own heading; parameters are comments, so that all of it can be read by SQL*Plus.
///
/// # Errors
/// If the engine's parameters can't be read, or there can be no such tablespace.
pub(crate) fn script(spec: &OpenSpec, plan: &PlannedLoad<'_>, sessions: u32) -> Result<String, EngineError> {
    let mut script = Script::default();
    let tablespace = Tablespace::new(spec, plan)?;
    parameters(&mut script, plan.block_bytes, sessions);
    tablespace.add(&mut script, plan);
    rest(&mut script);
    Ok(script.text())
}

fn parameters(script: &mut Script, block_bytes: u32, sessions: u32) {
    script.say("Part 1: parameters of a test database, for its parameter file; restart it afterwards.");
    script.say(
        "Not for production: they make reads small and caches useless, which is what a test of I/O needs.",
    );
    PARAMETERS.lines().for_each(|line| script.say(line));
    script.say("  # Cursors and what each session keeps there, beside the gigabyte that the instance needs.");
    script.say(&format!("  shared_pool_size={}M", SHARED_POOL_MIB + sessions * SESSION_MIB));
    if block_bytes != USUAL_BLOCK {
        let kib = block_bytes >> 10;
        script.say(&format!(
            "  # Blocks of {kib} KiB, where db_block_size is another; leave it out where not."
        ));
        script.say(&format!("  db_{kib}k_cache_size=64M"));
    }
    script.say(&format!("  # {sessions} sessions (schemas times threads, or streams of the load), and room for the server's own."));
    script.say(&format!("  processes={}", sessions + OTHER_PROCESSES));
    script.say("");
}

/// A tablespace that holds a planned load.
struct Tablespace {
    name: String,
    block_kib: u32,
    /// Size of the rows' blocks with their overhead, in MiB.
    mib: u64,
}

impl Tablespace {
    fn new(spec: &OpenSpec, plan: &PlannedLoad<'_>) -> Result<Self, EngineError> {
        const STEP: &str = "planning the tablespace";
        let options = Options::from_spec(spec)?;
        refuse_block(plan.block_bytes, STEP)?;
        let rows = plan.load.scale.saturating_add(plan.load.scan_blocks);
        let blocks =
            rows.saturating_mul(plan.schemas.len() as u64).saturating_mul(100 + OVERHEAD_PERCENT) / 100;
        let block_bytes = u64::from(plan.block_bytes);
        let room = (ROOM_MIB << 20) / block_bytes;
        if blocks.saturating_add(room) > MAX_BLOCKS {
            let message =
                format!("{blocks} blocks are more than the {MAX_BLOCKS} that a bigfile tablespace holds");
            return Err(EngineError::new(ErrorKind::Usage, STEP, message)
                .with_advice("lower SCALE or SCHEMAS, or raise BLOCK_SZ"));
        }
        Ok(Self {
            name: options.tablespace.as_deref().map_or_else(|| TABLESPACE.to_owned(), identifier),
            block_kib: plan.block_bytes >> 10,
            mib: (blocks * block_bytes) >> 20,
        })
    }

    fn add(&self, script: &mut Script, plan: &PlannedLoad<'_>) {
        let Self { name, block_kib, mib } = self;
        script.say(&format!(
            "Part 2: a tablespace for {} schemas with {} blocks each, {} MiB with {block_kib} KiB blocks. Needs OMF",
            plan.schemas.len(),
            plan.load.scale + plan.load.scan_blocks,
            mib + 1
        ));
        script
            .say("(db_create_file_dest); else name files after DATAFILE. Run it in the pluggable database.");
        script.add(&format!(
            "CREATE BIGFILE TABLESPACE {name} DATAFILE SIZE {}M AUTOEXTEND ON NEXT 1G BLOCKSIZE {block_kib}K EXTENT MANAGEMENT LOCAL SEGMENT SPACE MANAGEMENT AUTO",
            mib + ROOM_MIB
        ));
        script.say("");
    }
}

/// Redo logs, undo, scans and the calibration, which are the same for every load.
fn rest(script: &mut Script) {
    script.say("Part 3: redo logs for tests of updates, three of 4 GiB; then drop the small ones (V$LOG). In the root of a");
    script.say("container database; with several instances, three for each: ADD LOGFILE THREAD n.");
    (0..3).for_each(|_| script.add("ALTER DATABASE ADD LOGFILE SIZE 4G"));
    script.say("");
    script.say("Part 4: undo for tests of updates, in the pluggable database: REDO_STRESS=HEAVY writes as much undo as rows.");
    script.add("CREATE BIGFILE UNDO TABLESPACE SLOB_UNDO DATAFILE SIZE 8G AUTOEXTEND ON NEXT 1G");
    script.add("ALTER SYSTEM SET UNDO_TABLESPACE = SLOB_UNDO");
    script.say("");
    script.say("Part 5: tests with short scans (SCAN_PCT). CF2 is NOCACHE, and the server decides for each scan whether it goes");
    script.say("through the buffer cache (db file scattered read) or past it (direct path read). So that it is the same in each");
    script.say("run, put one of these into the parameter file; a mix is to be read with its scans apart:");
    script.say("  _serial_direct_read=never    # through the cache, as an OLTP application's short scans");
    script.say("  _serial_direct_read=always   # past it, as a report's");
    script.say("Scans that must find their blocks in the cache whatever SELECTs do there: db_keep_cache_size above the size of all");
    script.say("CF2, and then, for each of them: ALTER TABLE SLOB1.CF2 STORAGE (BUFFER_POOL KEEP) CACHE");
    script.say("");
    script.say("Part 6: the server's own calibration, as SYSDBA, in quiet hours: it loads the storage for ten minutes.");
    script.say("It drives reads of a size and a number of its own past the buffer cache. What it calls MAX_IOPS is what");
    script.say("the storage gave it, not what a database's sessions get: no buffer cache, no redo, no writes, no latches");
    script.say(
        "and next to no CPU are in it. It knows no working set: arrays serve a part of it from their caches.",
    );
    script.say("It needs asynchronous I/O (filesystemio_options, disk_asynch_io). Set the number of disks, and SET SERVEROUTPUT ON.");
    script.add(CALIBRATE);
}

const PARAMETERS: &str = "\
  # A cache that holds next to nothing, so that each block is read; automatic sizes off.
  memory_target=0
  sga_target=0
  db_cache_size=64M
  pga_aggregate_target=1G
  # One block for each read request: no prefetch of blocks that an index leads to.
  _db_block_prefetch_limit=0
  _db_block_prefetch_quota=0
  _db_file_noncontig_mblock_read_count=0
  # Around the page cache of the operating system, and asynchronously.
  filesystemio_options=setall
  disk_asynch_io=true
  # Redo of many sessions at once waits for the log writer, not for room in its buffer.
  log_buffer=256M
  # What UPDATEs undo is needed by nobody for long: the undo tablespace below is used again and again.
  undo_retention=60
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
    use crate::script::tests::{LOAD, planned, spec};
    use slob_engine::Load;
    use slob_method::SchemaNo;

    fn of(block_bytes: u32, sessions: u32) -> Result<String, EngineError> {
        let schemas: Vec<SchemaNo> = SchemaNo::up_to(4).collect();
        script(&spec(), &planned(&schemas, block_bytes), sessions)
    }

    pub(crate) fn whole() -> String {
        of(8192, 8).unwrap()
    }

    #[test]
    fn processes_follow_the_sessions() {
        assert!(of(8192, 8).unwrap().contains("--   processes=264\n"));
        assert!(of(8192, 4096).unwrap().contains("--   processes=4352\n"));
    }

    #[test]
    fn it_advises_on_shared_pool_log_buffer_undo_and_scans() {
        for (sessions, pool) in [(8, "1032M"), (4096, "5120M")] {
            let text = of(8192, sessions).unwrap();
            assert!(text.contains(&format!("--   shared_pool_size={pool}\n")), "{text}");
        }
        for words in [
            "log_buffer=",
            "undo_retention=",
            "CREATE BIGFILE UNDO TABLESPACE",
            "_serial_direct_read",
            "BUFFER_POOL KEEP",
        ] {
            assert!(whole().contains(words), "{words} is not in\n{}", whole());
        }
    }

    #[test]
    fn blocks_of_another_size_need_their_own_room_and_cache() {
        let text = of(16_384, 2).unwrap();
        assert!(text.contains("DATAFILE SIZE 776M"), "{text}");
        for words in ["BLOCKSIZE 16K", "db_16k_cache_size=64M", "with 16 KiB blocks"] {
            assert!(text.contains(words), "{words} is not in\n{text}");
        }
        assert!(whole().contains("BLOCKSIZE 8K") && !whole().contains("k_cache_size"), "{}", whole());
        for block_bytes in [2048, 65_536] {
            assert_eq!(of(block_bytes, 2).unwrap_err().kind(), ErrorKind::Usage);
        }
    }

    #[test]
    fn a_bigfile_beyond_its_limit_is_refused() {
        for scale in [1 << 32, u64::MAX] {
            let load = Load { scale, ..LOAD };
            let plan = PlannedLoad { load: &load, ..planned(&[SchemaNo::FIRST], 8192) };
            let error = script(&spec(), &plan, 1).unwrap_err();
            assert!(error.to_string().contains("bigfile"), "{error}");
        }
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
