//! Parameters of this engine.

use slob_engine::OpenSpec;
use slob_server::LoopPlace;
use slob_spec::{Group, Kind, Param};

/// The scheme of our targets.
pub(crate) const SCHEME: &str = "postgres";

const GROUP: Group = Group::Engine(SCHEME);
const PREWARM_NONE: &str = "none";
const PREWARM_CACHE: &str = "cache";

const PREWARM: Param = Param::new(
    "PREWARM",
    Kind::Choice(&[
        (PREWARM_NONE, "leave the buffer cache as it is"),
        (PREWARM_CACHE, "read every block of the main tables through the buffer cache"),
    ]),
    GROUP,
)
.meaning("what to read into the server's buffer cache before a run")
.shipped(PREWARM_NONE);

/// All of them.
pub(crate) const PARAMS: &[Param] = &[LoopPlace::PARAM, PREWARM];

/// The values of the parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// Where the loop runs.
    pub(crate) loop_place: LoopPlace,
    /// Where to load, if not into the database's default tablespace.
    pub(crate) tablespace: Option<String>,
    /// Whether to read all blocks before a run.
    pub(crate) prewarm: bool,
}

impl Options {
    /// Takes them out of what a target is opened with.
    pub(crate) fn from_spec(spec: &OpenSpec) -> Self {
        let loop_place = LoopPlace::from_options(&spec.options);
        let tablespace = spec.tablespace.as_deref().filter(|name| !name.is_empty());
        let prewarm = spec.options.get(PREWARM.key) == Some(PREWARM_CACHE);
        Self { loop_place, tablespace: tablespace.map(str::to_owned), prewarm }
    }
}
