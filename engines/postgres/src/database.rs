//! The servers of a target, as a run uses them.

use std::time::Duration;

use postgres::Client;
use slob_engine::{EngineError, ErrorKind, OpenSpec, Result};
use slob_method::SchemaNo;
use slob_server::{Environment, LoadedSchemas, LoopPlace, Servers, Task};
use slob_spec::{Group, Kind, Param};

use crate::connect::Connector;
use crate::server::with_lock_holders;
use crate::sql::Ask;

pub(crate) const SCHEME: &str = "postgres";
const OLDEST_VERSION: u32 = 13;
const PREWARM_NONE: &str = "none";
const PREWARM_CACHE: &str = "cache";
pub(crate) const PREWARM: Param = Param::new(
    "PREWARM",
    Kind::Choice(&[
        (PREWARM_NONE, "leave the buffer cache as it is"),
        (PREWARM_CACHE, "read every block of the main tables through the buffer cache"),
    ]),
    Group::Engine(SCHEME),
)
.meaning("what to read into the server's buffer cache before a run")
.shipped(PREWARM_NONE);

pub(crate) struct Database {
    pub(crate) servers: Servers<Connector>,
    pub(crate) version: u32,
    pub(crate) loop_place: LoopPlace,
    /// `None` is the database's default.
    pub(crate) tablespace: Option<String>,
    pub(crate) prewarm: bool,
    pub(crate) loaded: LoadedSchemas,
}

impl Database {
    pub(crate) fn open(spec: &OpenSpec) -> Result<Self> {
        let servers = Servers::connect(Connector::new(&spec.target, &Environment::process())?)?;
        Ok(Self {
            version: servers.with(Task::Read, major_version)?,
            servers,
            loop_place: LoopPlace::from_options(&spec.options),
            tablespace: spec.tablespace.clone().filter(|name| !name.is_empty()),
            prewarm: spec.options.get(PREWARM.key) == Some(PREWARM_CACHE),
            loaded: LoadedSchemas::default(),
        })
    }

    /// If locks are not granted in time, the error names their holders.
    pub(crate) fn load<T>(
        &self,
        schema: SchemaNo,
        patience: Duration,
        work: impl FnOnce(&mut Client) -> Result<T>,
    ) -> Result<T> {
        let result = self.servers.with(Task::Load, work);
        result.map_err(|error| with_lock_holders(&self.servers, schema, error, Some(patience)))
    }
}

fn major_version(client: &mut Client) -> Result<u32> {
    let step = "asking for the server's version";
    let sql = "SELECT current_setting('server_version_num'), current_setting('server_version')";
    let row = client.row(step, sql)?;
    // 150006 is 15.6.
    let major = row.need::<u32>(0, step)? / 10_000;
    if major < OLDEST_VERSION {
        let message = format!("the server is PostgreSQL {}", row.need::<String>(1, step)?);
        return Err(EngineError::new(ErrorKind::Usage, step, message)
            .with_advice(format!("{OLDEST_VERSION} is the oldest that is supported")));
    }
    Ok(major)
}
