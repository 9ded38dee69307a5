//! Completing a schema.

use slob_engine::{EngineError, ErrorKind, Layout, Load, LoadState};
use slob_method::SchemaNo;

use crate::schema_file::SchemaFile;
use crate::target::Place;
use crate::vfs::{Meter, drop_page_cache};
use crate::{index, layout};

/// Blocks of the cache that the index is built in: 16 MiB.
const CACHE_BLOCKS: u32 = 2048;

/// Completes a schema whose slices are all there: index, a look at the layout, everything on stable storage, and
/// nothing of it left in the page cache of the operating system.
///
/// # Errors
/// If rows are missing, or anything can't be read or written.
pub(crate) fn finish(
    place: &Place,
    load: &Load,
    schema: SchemaNo,
    meter: &Meter,
) -> Result<Layout, EngineError> {
    let path = place.file(schema);
    let file = SchemaFile::open(schema, &path, place.load_io(), meter)?;
    if let LoadState::Complete(layout) = file.own_state()?.state {
        return Ok(layout);
    }
    file.batch("completing", include_str!("../sql/loading.sql"))?;
    file.batch("completing", &format!("PRAGMA cache_size = {CACHE_BLOCKS}"))?;
    index::build(&file, load)?;
    index::check(&file, load)?;
    let layout = layout::look(&file)?;
    let scan_rows: u32 = file.value("completing", "SELECT COALESCE(MAX(id), 0) FROM cf2")?;
    if layout.rows != load.scale || u64::from(scan_rows) != load.scan_blocks {
        let message = format!(
            "{} of {} rows of cf1 and {scan_rows} of {} rows of cf2 are there",
            layout.rows, load.scale, load.scan_blocks
        );
        return Err(EngineError::new(ErrorKind::Data, format!("completing {}", path.display()), message)
            .with_advice("remove the schema with `slob drop` and load it again"));
    }
    // The commit of the mark syncs the file, and with it all that the slices left to the kernel.
    file.batch("completing", "PRAGMA synchronous = FULL")?;
    file.mark_complete(layout)?;
    file.value::<String>("completing", "PRAGMA journal_mode = WAL")?;
    file.batch("completing", "PRAGMA wal_checkpoint(TRUNCATE)")?;
    drop_page_cache(&file.connection).map_err(|error| file.failed("completing", &error))?;
    Ok(layout)
}
