//! Where the data are on the server's file systems.

use std::path::{Path, PathBuf};

use postgres::Client;

/// The folder of the tables: a tablespace's, or the data directory. A path that is not absolute lies in the latter, which the
/// server works in.
pub(crate) fn of_tables(client: &mut Client, tablespace: Option<&str>) -> Option<PathBuf> {
    let row = client.query_opt(include_str!("../sql/place.sql"), &[&tablespace]).ok()??;
    let location = PathBuf::from(row.try_get::<_, String>(0).ok()?);
    if location.is_absolute() {
        return Some(location);
    }
    // Empty, or a tablespace within the data directory.
    let directory = data_directory(client).unwrap_or_else(|| Path::new(".").to_path_buf());
    Some(if location.as_os_str().is_empty() { directory } else { directory.join(location) })
}

/// The data directory, if the role may know it.
pub(crate) fn data_directory(client: &mut Client) -> Option<PathBuf> {
    // A plain role sees no such row, where SHOW would be an error.
    let sql = "SELECT setting FROM pg_catalog.pg_settings WHERE name = 'data_directory'";
    let row = client.query_opt(sql, &[]).ok()?;
    row.and_then(|row| row.try_get::<_, Option<String>>(0).ok()?).map(PathBuf::from)
}
