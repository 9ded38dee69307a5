//! Keys of older files and of pgio, accepted so that those files can be used as they are.

use crate::kind::Kind;
use crate::param::{Group, Param};

pub(super) static PARAMS: &[Param] = &[
    Param::new(
        "SHARED_DATA_MODULUS",
        Kind::Text,
        Group::Compatibility,
        "a key of files before 2.3 of the original",
    )
    .note("it has had no effect since release 2.3 of the original; delete the line"),
    Param::new("DBNAME", Kind::Text, Group::Compatibility, "pgio's database")
        .note("set the database in TARGET instead"),
    // pgio users put passwords here: a secret is never shown.
    Param::new("CONNECT_STRING", Kind::Secret, Group::Compatibility, "pgio's connection")
        .note("set host, user and database in TARGET instead"),
    Param::new("CREATE_BASE_TABLE", Kind::Text, Group::Compatibility, "pgio's choice to keep its seed table")
        .note("there is no seed table; choose what to load with TARGET and SCALE"),
];
