use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use slob_engine::{EngineError, ErrorKind, OpenSpec, Purpose, Result, SchemaState, only_damaged};
use slob_method::SchemaNo;
use slob_server::{schema_name, schema_of_name};
use slob_spec::{Group, Kind, Param, Target};

use crate::error::os_failed;
use crate::schema_file::{Claim, SchemaFile, claim, not_loaded, not_ours};
use crate::vfs::{IoMode, Meter};

pub(crate) const BLOCK_BYTES: u32 = 8192;
pub(crate) const SCHEME: &str = "sqlite";
pub(crate) const FORM: &str = "sqlite:FOLDER";

const GROUP: Group = Group::Engine(SCHEME);
const CACHE_MB: Param = Param::new("CACHE_MB", Kind::Count { min: 1, max: 1 << 20 }, GROUP)
    .meaning("buffer cache of each session, in MiB; sessions of SQLite do not share one")
    .shipped("8");
const BUFFERED: Param = Param::new("BUFFERED", Kind::Flag, GROUP)
    .meaning("read and write blocks through the page cache of the operating system instead of direct I/O")
    .shipped("FALSE");

/// Long enough for a program that is about to end; a run or a shell would keep the file open for longer.
const DROP_WAIT: Duration = Duration::from_secs(2);

const CACHE_MB_DEFAULT: u64 = 8;
const BLOCKS_PER_MB: u64 = (1 << 20) / BLOCK_BYTES as u64;

pub(crate) const PARAMS: &[Param] = &[CACHE_MB, BUFFERED];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) folder: PathBuf,
    pub(crate) buffered: bool,
    pub(crate) cache_blocks: u32,
}

impl Place {
    pub(crate) fn from_spec(spec: &OpenSpec) -> Result<Self> {
        let cache_mb = spec.options.get(CACHE_MB.key).unwrap_or(CACHE_MB_DEFAULT);
        let buffered = spec.options.get(BUFFERED.key).unwrap_or(false);
        let cache_blocks = u32::try_from(cache_mb * BLOCKS_PER_MB).unwrap_or(u32::MAX);
        Ok(Self { folder: folder(&spec.target, spec.purpose)?, buffered, cache_blocks })
    }

    pub(crate) fn io(&self) -> IoMode {
        if self.buffered { IoMode::Buffered } else { IoMode::Direct }
    }

    pub(crate) fn load_io(&self) -> IoMode {
        if self.buffered { IoMode::Buffered } else { IoMode::Streaming }
    }

    pub(crate) fn file(&self, schema: SchemaNo) -> PathBuf {
        self.folder.join(format!("{}.db", schema_name(schema)))
    }

    pub(crate) fn draft(&self, schema: SchemaNo) -> PathBuf {
        self.folder.join(format!("slob{schema}.db.new"))
    }
}

fn folder(target: &Target, purpose: Purpose) -> Result<PathBuf> {
    let refuse = |message: &str, advice: &str| {
        Err(EngineError::new(ErrorKind::Usage, format!("opening '{target}'"), message).with_advice(advice))
    };
    if !target.query().is_empty() {
        return refuse("its address takes no options after '?'", "use the parameters CACHE_MB and BUFFERED");
    }
    if target.path().is_empty() || target.host().is_some() || target.user().is_some() {
        return refuse("the address must be a folder of this machine", "write sqlite:FOLDER");
    }
    let folder = PathBuf::from(target.path());
    match purpose {
        _ if folder.is_dir() => Ok(folder),
        _ if folder.exists() => refuse("it is not a folder", "write sqlite:FOLDER"),
        _ if !parent(&folder).is_dir() => refuse(
            "neither this folder nor the one that it would be made in exists",
            &format!("`mkdir -p {}` makes it, or name another with TARGET", parent(&folder).display()),
        ),
        Purpose::Load => Ok(folder),
        Purpose::Use => {
            refuse("there is no such folder", "load it first with `slob setup`, or name another with TARGET")
        }
    }
}

fn parent(folder: &Path) -> &Path {
    folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn schema_of(path: &Path) -> Option<SchemaNo> {
    schema_of_name(path.file_name()?.to_str()?.strip_suffix(".db")?)
}

pub(crate) fn companions(file: &Path) -> impl Iterator<Item = PathBuf> + '_ {
    ["-journal", "-wal", "-shm"].into_iter().map(move |suffix| {
        let mut name = file.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    })
}

/// Fails if all schemas are damaged: nothing then says how they were loaded.
pub(crate) fn schemas(place: &Place, meter: &Meter) -> Result<Vec<SchemaState>> {
    let (mut states, mut damaged) = (Vec::new(), Vec::new());
    for (schema, path) in schema_files(place)? {
        let read = SchemaFile::open(schema, &path, IoMode::Buffered, meter).and_then(|file| file.state());
        match read {
            Ok(state) => states.extend(state),
            Err(error) if error.kind() == ErrorKind::Space => {
                states.extend(SchemaFile::open_read_only(schema, &path, meter)?.state()?);
            }
            Err(error) if error.kind() == ErrorKind::Data => damaged.push(schema),
            Err(error) => return Err(error),
        }
    }
    SchemaState::with_damaged(states, &damaged).ok_or_else(|| {
        let files: Vec<String> =
            damaged.iter().map(|schema| format!("'{}'*", place.file(*schema).display())).collect();
        let step = format!("reading {}", place.folder.display());
        only_damaged(&step, &format!("the files: rm {}", files.join(" ")))
    })
}

pub(crate) fn schema_files(place: &Place) -> Result<Vec<(SchemaNo, PathBuf)>> {
    if !place.folder.exists() {
        return Ok(Vec::new());
    }
    let failed = |error: io::Error| os_failed(format!("reading {}", place.folder.display()), &error);
    let mut files = Vec::new();
    for entry in fs::read_dir(&place.folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        files.extend(schema_of(&path).map(|schema| (schema, path)));
    }
    files.sort();
    Ok(files)
}

/// The file may be damaged, and there may be no room for SQLite. A file with others' tables stays.
pub(crate) fn drop_schema(place: &Place, schema: SchemaNo, meter: &Meter) -> Result<()> {
    let path = place.file(schema);
    let step = || format!("removing {}", path.display());
    let others = match SchemaFile::open(schema, &path, IoMode::Buffered, meter).and_then(|file| file.others())
    {
        Err(error) if error.kind() == ErrorKind::Space => {
            SchemaFile::open_read_only(schema, &path, meter).and_then(|file| file.others())
        }
        others => others,
    };
    match others {
        Ok(others) if !others.is_empty() => {
            let message = format!("it holds objects that slob did not make: {others:?}");
            return Err(
                EngineError::new(ErrorKind::Usage, step(), message).with_advice("move or drop them first")
            );
        }
        Err(error) if error.kind() != ErrorKind::Data => return Err(error),
        _ => {}
    }
    match claim(&path, DROP_WAIT, || remove(&path)) {
        Ok(Claim::Done(())) => Ok(()),
        Ok(Claim::NotOurs) => Err(not_ours(&path)),
        Ok(Claim::InUse) => {
            Err(EngineError::new(ErrorKind::Retryable, step(), "a program has it open").with_advice("end it"))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(not_loaded(schema, &path)),
        Err(error) => Err(os_failed(step(), &error)),
    }
}

/// A draft has our marker or is empty, and is no link.
pub(crate) fn remove_draft(draft: &Path) -> Result<()> {
    let step = || format!("removing {}", draft.display());
    let Ok(about) = fs::symlink_metadata(draft) else { return Ok(()) };
    let claimed = match about.is_file() {
        true if about.len() == 0 => remove(draft).map(Claim::Done),
        true => claim(draft, Duration::ZERO, || remove(draft)),
        false => Ok(Claim::NotOurs),
    };
    match claimed {
        Ok(Claim::Done(())) => Ok(()),
        Ok(Claim::NotOurs) => Err(not_ours(draft)),
        Ok(Claim::InUse) => Err(EngineError::new(ErrorKind::Retryable, step(), "a program has it open")),
        Err(error) => Err(os_failed(step(), &error)),
    }
}

/// The main file goes last: its marker lets a removal resume.
fn remove(path: &Path) -> io::Result<()> {
    for companion in companions(path) {
        match fs::remove_file(companion) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    fs::remove_file(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_spec::EngineOptions;

    fn spec(target: &str) -> OpenSpec {
        OpenSpec::new(target.parse().unwrap(), Purpose::Load, EngineOptions::default())
    }

    #[test]
    fn a_folder_without_parameters_is_a_target() {
        let place = Place::from_spec(&spec("sqlite:./nowhere")).unwrap();
        assert_eq!(place, Place { folder: "./nowhere".into(), buffered: false, cache_blocks: 1024 });
        assert_eq!(CACHE_MB.shipped, Some(CACHE_MB_DEFAULT.to_string().as_str()));
    }

    #[test]
    fn unusable_targets_are_refused() {
        for target in ["sqlite:", "sqlite://host/x", "sqlite:./x?mode=ro", "sqlite:/proc/self/exe"] {
            assert_eq!(Place::from_spec(&spec(target)).unwrap_err().kind(), ErrorKind::Usage, "{target}");
        }
        let empty = Place::from_spec(&spec("sqlite:")).unwrap_err().to_string();
        assert!(empty.starts_with("opening 'sqlite:': the address"), "{empty}");
        let missing = OpenSpec { purpose: Purpose::Use, ..spec("sqlite:./nowhere") };
        assert!(Place::from_spec(&missing).unwrap_err().to_string().contains("slob setup"));
    }

    #[test]
    fn only_canonical_names_are_schemas() {
        let number = |name: &str| schema_of(Path::new(name)).map(SchemaNo::get);
        assert_eq!((number("d/slob7.db"), number("slob4096.db")), (Some(7), Some(4096)));
        for name in
            ["slob07.db", "slob0.db", "slob.db", "slob1.db-wal", "slob+1.db", "xslob1.db", "slob1.db.new"]
        {
            assert_eq!(number(name), None, "{name}");
        }
    }
}
