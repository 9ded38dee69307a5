//! Records in their folders: written, found, and read back, those of earlier versions too.
#![allow(clippy::unwrap_used)]

mod store;
mod versions;
