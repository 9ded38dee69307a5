//! Sentences on settings that spoil an I/O test.

use slob_server::Found;

/// Three hidden parameters that make an index range read several blocks at once.
const PREFETCH: [&str; 3] =
    ["_db_block_prefetch_limit", "_db_block_prefetch_quota", "_db_file_noncontig_mblock_read_count"];
/// Smaller redo logs than this are switched every few seconds at full load.
const SMALL_LOG_BYTES: u64 = 1 << 30;

/// Data in ASM are read around the page cache, and files where the option says so.
pub(crate) fn direct_io(found: &Found) -> Option<bool> {
    if found.get("data files in ASM").is_some_and(|share| share != "0") {
        return Some(true);
    }
    let option = found.get("filesystemio_options")?;
    Some(["SETALL", "DIRECTIO"].iter().any(|direct| option.eq_ignore_ascii_case(direct)))
}

/// OFF, and FALSE of earlier releases, leave checksums to the tablespace SYSTEM.
pub(crate) fn checks_blocks(found: &Found) -> Option<bool> {
    let checksum = found.get("db_block_checksum")?;
    Some(!["OFF", "FALSE"].iter().any(|off| checksum.eq_ignore_ascii_case(off)))
}

/// What there is to say. `data_bytes` are those of all complete schemas.
pub(crate) fn advice(found: &Found, data_bytes: Option<u64>) -> Vec<String> {
    let mut advice = Vec::new();
    if let (Some(data), Some(cache)) = (data_bytes, found.number("buffer cache bytes"))
        && data <= cache
    {
        advice.push(format!(
            "The data ({} MiB) fit into the buffer cache ({} MiB): reads will not leave the server. Load more, or lower db_cache_size, to test I/O.",
            data >> 20, cache >> 20
        ));
    }
    // Where no parameter may be seen there is nothing to say of one that is missing.
    let unset: Vec<&str> = PREFETCH.into_iter().filter(|name| found.get(name) != Some("0")).collect();
    if !unset.is_empty() && found.get("db_block_size").is_some() {
        advice.push(format!(
            "{} {} not 0: the server may read several blocks with one request (db file parallel read), so that reads are fewer than blocks. For single-block I/O set them to 0 on a test database and restart it.",
            unset.join(", "),
            if unset.len() == 1 { "is" } else { "are" }
        ));
    }
    if direct_io(found) == Some(false) {
        advice.push("filesystemio_options is neither SETALL nor DIRECTIO: on a local file system reads may be served by the page cache of the operating system, and not reach the device.".into());
    }
    for (name, spoilt, text) in SPOILERS {
        if found.get(name).is_some_and(|value| value.eq_ignore_ascii_case(spoilt)) {
            advice.push((*text).into());
        }
    }
    if found.get("resource_manager_plan").is_some_and(|plan| !plan.is_empty()) {
        advice.push("A resource_manager_plan is set: sessions may wait for CPU or I/O that the plan denies them (resmgr: events).".into());
    }
    if found.get("db_flash_cache_size").is_some_and(|size| !["", "0"].contains(&size)) {
        advice.push("A flash cache is behind the buffer cache (db_flash_cache_size): blocks may come from there, and not from the storage of the data.".into());
    }
    if let Some(smallest) = found.number("smallest redo log bytes").filter(|bytes| *bytes < SMALL_LOG_BYTES) {
        advice.push(format!(
            "The smallest redo log has {} MiB: updates will wait for log switches and checkpoints. Test updates with logs of 1 GiB or more.",
            smallest >> 20
        ));
    }
    if let Some(tasks) = found.get("automatic tasks") {
        advice.push(format!("Automatic tasks are enabled ({tasks}): their windows open in the evening, and at weekends; they would share the window with the test."));
    }
    advice
}

/// Settings and values that make figures better or worse than they are.
const SPOILERS: &[(&str, &str, &str)] = &[
    (
        "disk_asynch_io",
        "FALSE",
        "disk_asynch_io is FALSE: the database writer waits for one write after the other.",
    ),
    (
        "statistics_level",
        "BASIC",
        "statistics_level is BASIC: the server does not time its waits; set it to TYPICAL.",
    ),
    (
        "timed_statistics",
        "FALSE",
        "timed_statistics is FALSE: the server does not time its waits; set it to TRUE.",
    ),
    (
        "db_block_checksum",
        "OFF",
        "db_block_checksum is OFF: blocks are read and written without the checks of a server in production.",
    ),
    (
        "log mode",
        "NOARCHIVELOG",
        "The database is in NOARCHIVELOG mode: redo is written, but not read again and archived as in production.",
    ),
    (
        "result_cache_mode",
        "FORCE",
        "result_cache_mode is FORCE: results of SELECTs may come from a cache without a block being read; set it to MANUAL.",
    ),
    ("commit_wait", "NOWAIT", "commit_wait is NOWAIT: our commits ask to wait for the log anyway."),
    ("recyclebin", "on", "The recyclebin is on: tables that others drop keep their room; ours are purged."),
];

#[cfg(test)]
mod tests {
    use super::*;
    use slob_engine::Setting;

    const SOUND: &[(&str, &str)] = &[
        ("db_block_size", "8192"),
        ("_db_block_prefetch_limit", "0"),
        ("_db_block_prefetch_quota", "0"),
        ("_db_file_noncontig_mblock_read_count", "0"),
        ("filesystemio_options", "SETALL"),
        ("disk_asynch_io", "TRUE"),
        ("statistics_level", "TYPICAL"),
        ("db_block_checksum", "TYPICAL"),
        ("log mode", "ARCHIVELOG"),
        ("resource_manager_plan", ""),
        ("smallest redo log bytes", "4294967296"),
        ("buffer cache bytes", "67108864"),
        ("result_cache_mode", "MANUAL"),
        ("db_flash_cache_size", "0"),
    ];

    fn with(changes: &[(&str, &str)]) -> Found {
        let changed = |name: &str| changes.iter().any(|(other, _)| *other == name);
        let rest = SOUND.iter().filter(|(name, _)| !changed(name));
        Found(rest.chain(changes).map(|(name, value)| Setting::new(*name, *value)).collect())
    }

    #[test]
    fn a_sound_server_gets_no_advice() {
        assert_eq!(advice(&with(&[]), Some(1 << 40)), Vec::<String>::new());
        assert_eq!(advice(&Found(Vec::new()), Some(1)), Vec::<String>::new(), "nothing may be seen");
    }

    #[test]
    fn each_spoiler_is_named_once() {
        for (name, value, word) in [
            ("buffer cache bytes", "1099511627776", "fit into the buffer cache"),
            ("_db_block_prefetch_limit", "5", "_db_block_prefetch_limit is not 0"),
            ("filesystemio_options", "none", "filesystemio_options"),
            ("disk_asynch_io", "FALSE", "disk_asynch_io"),
            ("statistics_level", "BASIC", "statistics_level"),
            ("db_block_checksum", "OFF", "db_block_checksum"),
            ("log mode", "NOARCHIVELOG", "NOARCHIVELOG"),
            ("resource_manager_plan", "DEFAULT_PLAN", "resource_manager_plan"),
            ("smallest redo log bytes", "209715200", "200 MiB"),
            ("automatic tasks", "sql tuning advisor", "sql tuning advisor"),
            ("recyclebin", "on", "recyclebin"),
            ("result_cache_mode", "FORCE", "result_cache_mode"),
            ("db_flash_cache_size", "64G", "flash cache"),
        ] {
            let advice = advice(&with(&[(name, value)]), Some(1 << 30));
            assert!(advice.len() == 1 && advice[0].contains(word), "{name}: {advice:?}");
        }
    }

    #[test]
    fn blocks_are_checked_unless_db_block_checksum_is_off() {
        let checks = |value| checks_blocks(&with(&[("db_block_checksum", value)]));
        assert_eq!([checks("TYPICAL"), checks("FULL"), checks("TRUE")], [Some(true); 3]);
        assert_eq!([checks("OFF"), checks("false")], [Some(false); 2]);
        assert_eq!(checks_blocks(&Found::default()), None);
    }

    #[test]
    fn data_in_asm_go_around_the_page_cache() {
        assert_eq!(
            direct_io(&with(&[("filesystemio_options", "none"), ("data files in ASM", "5")])),
            Some(true)
        );
        assert_eq!(direct_io(&with(&[("filesystemio_options", "ASYNCH")])), Some(false));
        assert_eq!(direct_io(&Found::default()), None);
    }
}
