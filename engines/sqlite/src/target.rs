//! Where the schemas are and how they are to be opened.

use std::path::{Path, PathBuf};

use slob_engine::{EngineError, ErrorKind, OpenSpec, Purpose};
use slob_method::SchemaNo;
use slob_spec::{Group, Kind, Param, Target};

use crate::vfs::IoMode;

/// Bytes of a block: the page size of our databases.
pub(crate) const BLOCK_BYTES: u32 = 8192;
/// The scheme of our targets.
pub(crate) const SCHEME: &str = "sqlite";
/// How the target is written.
pub(crate) const FORM: &str = "sqlite:FOLDER";

const GROUP: Group = Group::Engine(SCHEME);
const CACHE_MB: Param = Param::new("CACHE_MB", Kind::Count { min: 1, max: 1 << 20 }, GROUP)
    .meaning("buffer cache of each session, in MiB; sessions of SQLite do not share one")
    .shipped("8");
const BUFFERED: Param = Param::new("BUFFERED", Kind::Flag, GROUP)
    .meaning("read and write blocks through the page cache of the operating system instead of direct I/O")
    .shipped("FALSE");

const CACHE_MB_DEFAULT: u64 = 8;
const BLOCKS_PER_MB: u64 = (1 << 20) / BLOCK_BYTES as u64;

/// Parameters of this engine.
pub(crate) const PARAMS: &[Param] = &[CACHE_MB, BUFFERED];

/// A folder of schemas, opened for some purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The folder.
    pub(crate) folder: PathBuf,
    /// Whether blocks go through the page cache of the operating system.
    pub(crate) buffered: bool,
    /// Blocks that the buffer cache of each session holds.
    pub(crate) cache_blocks: u32,
}

impl Place {
    /// Reads the target and the options.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if the target is not a folder that suits its purpose.
    pub(crate) fn from_spec(spec: &OpenSpec) -> Result<Self, EngineError> {
        let cache_mb = spec.options.get(CACHE_MB.key).unwrap_or(CACHE_MB_DEFAULT);
        let buffered = spec.options.get(BUFFERED.key).unwrap_or(false);
        let cache_blocks = u32::try_from(cache_mb * BLOCKS_PER_MB).unwrap_or(u32::MAX);
        Ok(Self { folder: folder(&spec.target, spec.purpose)?, buffered, cache_blocks })
    }

    /// How sessions read and write.
    pub(crate) fn io(&self) -> IoMode {
        if self.buffered { IoMode::Buffered } else { IoMode::Direct }
    }

    /// How loaders write.
    pub(crate) fn load_io(&self) -> IoMode {
        if self.buffered { IoMode::Buffered } else { IoMode::Streaming }
    }

    /// The file of a schema.
    pub(crate) fn file(&self, schema: SchemaNo) -> PathBuf {
        self.folder.join(format!("slob{schema}.db"))
    }

    /// Where a schema's file is made before it gets its name.
    pub(crate) fn draft(&self, schema: SchemaNo) -> PathBuf {
        self.folder.join(format!("slob{schema}.db.new"))
    }
}

fn folder(target: &Target, purpose: Purpose) -> Result<PathBuf, EngineError> {
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
        Purpose::Load if parent(&folder).is_dir() => Ok(folder),
        Purpose::Load => refuse(
            "neither this folder nor the one that it would be made in exists",
            "make the folder first, or name another with TARGET",
        ),
        Purpose::Use => {
            refuse("there is no such folder", "load it first with `slob setup`, or name another with TARGET")
        }
    }
}

fn parent(folder: &Path) -> &Path {
    folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The number of the schema that a file name stands for.
pub(crate) fn schema_of(path: &Path) -> Option<SchemaNo> {
    let number = path.file_name()?.to_str()?.strip_prefix("slob")?.strip_suffix(".db")?;
    let schema = number.parse().ok().and_then(SchemaNo::new)?;
    // Not slob01.db or slob+1.db, which are nobody's.
    (schema.to_string() == number).then_some(schema)
}

/// The files that SQLite may keep beside a database file.
pub(crate) fn companions(file: &Path) -> impl Iterator<Item = PathBuf> + '_ {
    ["-journal", "-wal", "-shm"].into_iter().map(move |suffix| {
        let mut name = file.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_spec::EngineOptions;

    fn spec(target: &str) -> OpenSpec {
        OpenSpec::new(target.parse().unwrap(), Purpose::Load, EngineOptions::default())
    }

    #[test]
    fn a_folder_is_all_it_needs() {
        let place = Place::from_spec(&spec("sqlite:./nowhere")).unwrap();
        assert_eq!(place, Place { folder: "./nowhere".into(), buffered: false, cache_blocks: 1024 });
        assert_eq!(CACHE_MB.shipped, Some(CACHE_MB_DEFAULT.to_string().as_str()));
    }

    #[test]
    fn refuses_what_it_cannot_use() {
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
