//! The SQLite engine on real files.

mod contract;
mod crash;
mod damage;
mod loading;
mod sessions;
mod support;
mod vfs;
