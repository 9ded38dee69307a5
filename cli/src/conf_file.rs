//! Reading `slob.conf`, or what is named in its place.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use slob_spec::ConfFile;

use crate::failure::Failure;
use crate::next_step;

const DEFAULT_FILE: &str = "slob.conf";
/// Far more than any has, in bytes: what goes on behind it is something else.
const MOST: u64 = 1 << 20;
/// What a shell gives to a program: its end is certain, and there is somebody who writes.
const PASSED: &[&str] = &["/dev/stdin", "/dev/fd/", "/proc/self/fd/"];

/// The file that was asked for must be there; `slob.conf` in this folder need not.
pub(crate) fn read(asked: Option<&str>) -> Result<Option<ConfFile>, Failure> {
    let name = asked.unwrap_or(DEFAULT_FILE);
    match text(name) {
        Ok(text) => Ok(Some(ConfFile::parse(name, &text)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound && asked.is_none() => Ok(None),
        Err(error) => {
            let advice = advice(name, &error);
            Err(Failure::usage(format!("reading the configuration file {name}: {error}; {advice}")))
        }
    }
}

fn text(name: &str) -> io::Result<String> {
    let about = fs::metadata(name)?;
    // A pipe would be waited for, and some devices have no end.
    if about.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !about.is_file() && !PASSED.iter().any(|passed| name.starts_with(passed)) {
        return Err(io::Error::other("not a file, but a device or a pipe"));
    }
    let mut text = String::new();
    let read = File::open(Path::new(name))?.take(MOST + 1).read_to_string(&mut text)?;
    if read as u64 > MOST { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(text) }
}

fn advice(name: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => {
            let name = next_step::quoted(name);
            format!("check its name, or write a new one with `slob conf --init --conf {name}`")
        }
        io::ErrorKind::PermissionDenied => {
            "make it readable to your account, or name another with --conf".into()
        }
        io::ErrorKind::InvalidData => "save it as UTF-8, or name another with --conf".into(),
        io::ErrorKind::FileTooLarge => {
            format!("a configuration has {} KiB at most: name one with --conf", MOST >> 10)
        }
        _ => "name an ordinary file with --conf, or /dev/stdin".into(),
    }
}
