//! Services and accounts of servers that have them.

use super::MAX_SESSIONS;
use crate::kind::Kind;
use crate::param::{Group, Param};

pub(super) static PARAMS: &[Param] = &[
    Param::new(
        "ADMIN_SQLNET_SERVICE",
        Kind::Text,
        Group::Access,
        "net service for administration, if not TARGET's",
    )
    .flag("admin-sqlnet-service"),
    Param::new(
        "SQLNET_SERVICE_BASE",
        Kind::Text,
        Group::Access,
        "net service of the sessions, if not TARGET's",
    )
    .flag("sqlnet-service-base"),
    Param::new(
        "SQLNET_SERVICE_MAX",
        Kind::Count { min: 0, max: MAX_SESSIONS },
        Group::Access,
        "if n is above 0, sessions go round-robin to SQLNET_SERVICE_BASE with 1 to n appended",
    )
    .flag("sqlnet-service-max"),
    Param::new(
        "DBA_PRIV_USER",
        Kind::Text,
        Group::Access,
        "privileged account that creates and drops schemas",
    )
    .shipped("system")
    .if_deleted("system")
    .flag("dba-priv-user"),
    Param::new(
        "SYSDBA_PASSWD",
        Kind::Secret,
        Group::Access,
        "password of DBA_PRIV_USER; never shown nor recorded",
    )
    .shipped("manager")
    .if_deleted("manager")
    .original("shown on the terminal, in process lists and in files"),
];
