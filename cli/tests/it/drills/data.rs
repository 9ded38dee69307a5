//! Single bytes of data files are flipped: `slob verify` must find every one that hit a row, and report none on sound data.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use super::times;
use crate::common::{Folder, Random, mariadb, postgres};
use slob_testing::jobs::TestServer as _;
use slob_testing::postgres::Version;

fn flip(path: &Path, at: u64, random: &mut Random) {
    let file = File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    byte[0] ^= 1 + random.below(255) as u8;
    file.write_all_at(&byte, at).unwrap();
}

#[test]
fn a_flipped_byte_of_sqlite_is_found() {
    let folder = Folder::loaded(1, "4M");
    let path = folder.at("d/slob1.db");
    let sound = fs::read(&path).unwrap();
    let before = contents(&path).expect("what was loaded can be read");
    let mut random = Random::new();
    let mut hits = 0;
    for _ in 0..times(40, 200) {
        let at = random.below(sound.len() as u64);
        flip(&path, at, &mut random);
        let is_same = contents(&path) == Some(before);
        let called = folder.slob("verify");
        if !is_same {
            hits += 1;
            assert_ne!(called.code, 0, "byte {at} hit a row: {}", called.stdout);
        } else if is_sound(&path) {
            called.success();
        }
        fs::write(&path, &sound).unwrap();
    }
    assert!(hits > 10, "{hits} hits");
    folder.slob("verify").success();
}

/// By SQLite's own reads; `None` if they fail.
fn contents(path: &Path) -> Option<u64> {
    let read = || -> rusqlite::Result<u64> {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let mut hash = DefaultHasher::new();
        for table in ["cf1", "cf2"] {
            let mut statement =
                connection.prepare(&format!("SELECT * FROM {table} NOT INDEXED ORDER BY rowid"))?;
            let columns = statement.column_count();
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                for column in 0..columns {
                    match row.get_ref(column)? {
                        ValueRef::Null => 0.hash(&mut hash),
                        ValueRef::Integer(number) => (1, number).hash(&mut hash),
                        ValueRef::Real(number) => (2, number.to_bits()).hash(&mut hash),
                        ValueRef::Text(bytes) => (3, bytes).hash(&mut hash),
                        ValueRef::Blob(bytes) => (4, bytes).hash(&mut hash),
                    }
                }
            }
        }
        Ok(hash.finish())
    };
    read().ok()
}

/// SQLite's own check, indexes included.
fn is_sound(path: &Path) -> bool {
    let check = || -> rusqlite::Result<String> {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        connection.query_row("PRAGMA integrity_check", [], |row| row.get(0))
    };
    check().is_ok_and(|said| said == "ok")
}

/// Rows of one block each, on PostgreSQL.
const BLOCK: u64 = 8192;

/// Offsets of a row's columns and of free room in a block of PostgreSQL: see storage/bufpage.h and access/htup_details.h.
struct Tuple {
    columns: std::ops::Range<u64>,
    free: std::ops::Range<u64>,
}

impl Tuple {
    fn of(block: &[u8]) -> Self {
        let short = |at: usize| u64::from(u16::from_le_bytes([block[at], block[at + 1]]));
        let (lower, upper) = (short(12), short(14));
        let pointer = u32::from_le_bytes(block[24..28].try_into().unwrap());
        let (offset, length) = (u64::from(pointer & 0x7fff), u64::from(pointer >> 17));
        let header = u64::from(block[offset as usize + 22]);
        Self { columns: offset + header..offset + length, free: lower..upper }
    }
}

#[test]
fn flipped_bytes_of_postgresql_without_checksums_are_found() {
    let Some(mut bench) = postgres(Version::V15, &[]) else { return };
    let scale = times(120, 400) as u64;
    bench.load(&format!("--scale {scale} 1"));
    let path: String = bench.server.ask("SELECT pg_relation_filepath('slob1.cf1')");
    assert_eq!(bench.server.ask::<String>("SHOW data_checksums"), "off");
    bench.server.stop();
    let file = bench.server.data_folder().join(path);
    let bytes = fs::read(&file).unwrap();
    let mut random = Random::new();
    // A byte of every other row, and a byte of the free room of those between.
    for row in 0..scale {
        let block = row * BLOCK;
        let tuple = Tuple::of(&bytes[block as usize..][..BLOCK as usize]);
        let range = if row % 2 == 0 { tuple.columns } else { tuple.free };
        flip(&file, block + range.start + random.below(range.end - range.start), &mut random);
    }
    bench.server.restart();
    let called = bench.verify().exits(1);
    let last = called.stdout.lines().last().unwrap();
    assert!(last.ends_with(&format!(", {} faulty", scale / 2)), "{}{}", called.stdout, called.stderr);
}

#[test]
fn a_flipped_byte_of_mariadb_is_found() {
    let Some(mut bench) = mariadb(&[]) else { return };
    bench.load("--scale 256 1");
    bench.verify().success();
    let file = bench.server.data_folder().join("slob1/cf1.ibd");
    bench.server.stop();
    let sound = fs::read(&file).unwrap();
    let pages = leaf_pages(&sound);
    assert!(pages.len() >= 256, "{} leaf pages", pages.len());
    // The server's own check of its pages.
    let is_sound = || Command::new("innochecksum").arg(&file).output().unwrap().status.success();
    assert!(is_sound());
    let mut random = Random::new();
    for _ in 0..times(4, 200) {
        let page = pages[random.below(pages.len() as u64) as usize];
        // A byte of the row, which is most of the page.
        flip(&file, page + 128 + random.below(8192), &mut random);
        assert!(!is_sound(), "page at {page}");
        bench.server.restart();
        let called = bench.verify();
        assert_ne!(called.code, 0, "page at {page}: {}", called.stdout);
        bench.server.stop();
        fs::write(&file, &sound).unwrap();
    }
    bench.server.restart();
    bench.verify().success();
}

/// The leaves of the clustered index: pages of type INDEX on level 0 of the index with most pages
/// (storage/innobase/include/fil0fil.h, page0page.h).
fn leaf_pages(file: &[u8]) -> Vec<u64> {
    const PAGE: usize = 16384;
    let leaves = file.chunks(PAGE).enumerate().filter(|(_, page)| {
        let short = |at: usize| u16::from_be_bytes([page[at], page[at + 1]]);
        page.len() == PAGE && short(24) == 17855 && short(38 + 26) == 0
    });
    let of_index: Vec<(u64, &[u8])> =
        leaves.map(|(number, page)| ((number * PAGE) as u64, &page[38 + 28..38 + 36])).collect();
    let count = |id: &[u8]| of_index.iter().filter(|(_, other)| *other == id).count();
    let most = of_index.iter().map(|(_, id)| *id).max_by_key(|id| count(id));
    of_index.iter().filter(|(_, id)| Some(*id) == most).map(|(at, _)| *at).collect()
}

#[test]
fn data_that_are_gone_after_a_run_are_not_called_sound() {
    let folder = Folder::loaded(1, "8M");
    let child = folder.start_run("1 --run-time 10 --plain");
    fs::remove_dir_all(folder.at("d")).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("Complete?     BAD"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}
