//! Reading rows back.

use std::ops::Range;

use slob_engine::{EngineError, ErrorKind};
use slob_method::{COLUMNS, RowView, SchemaNo, Table};
use slob_server::chunks;

use crate::catalog::{self, number};
use crate::client::{Client, Row};
use crate::connector::Connector;
use crate::error::failed;
use crate::options::Accounts;
use crate::tables::column_names;

/// Keys that one query asks for; a list may hold a thousand.
const CHUNK: u64 = 256;

/// Reads the rows at `positions`, by their keys.
///
/// # Errors
/// If the table can't be read, or is the original kit's, whose rows are not ours to know.
pub(crate) fn read_rows(
    client: &mut dyn Client,
    connector: &Connector,
    schema: SchemaNo,
    table: Table,
    positions: &Range<u64>,
    visit: &mut dyn FnMut(&RowView<'_>),
) -> Result<(), EngineError> {
    let user = connector.prefix.user(schema);
    let step = format!("reading {user}.{}", table.name());
    if connector.accounts == Accounts::Kit {
        return Err(EngineError::new(
            ErrorKind::Usage,
            step,
            "what the original kit loaded can't be verified",
        ));
    }
    let load = catalog::schema(client, connector, schema, &step)?.state.load;
    let scatter = load.scatter(schema);
    for chunk in chunks(positions, load.rows(table), CHUNK) {
        let key = |position: u64| if table == Table::Main { scatter.key_at(position) } else { position };
        let keys: Vec<String> = chunk.map(|position| key(position).to_string()).collect();
        let sql = include_str!("../sql/read_rows.sql")
            .trim_end()
            .replace("{names}", &column_names())
            .replace("{user}", &user)
            .replace("{table}", table.name())
            .replace("{keys}", &keys.join(", "));
        for row in client.query(&sql, &[]).map_err(|fault| failed(step.as_str(), &fault))? {
            let custid = number(&row, 0).unwrap_or(0);
            let position = if table == Table::Main { scatter.position_of(custid) } else { custid };
            visit(&RowView { position, custid, columns: texts(&row), filler: &[] });
        }
    }
    Ok(())
}

fn texts(row: &Row) -> [&[u8]; COLUMNS] {
    std::array::from_fn(|column| catalog::text(row, column + 1).unwrap_or_default().as_bytes())
}
