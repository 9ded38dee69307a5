//! Reading rows back.

use std::error::Error;
use std::ops::Range;

use postgres::error::SqlState;
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::{FromSql, ToSql, Type};
use postgres::{Client, Row};
use slob_engine::{EngineError, ErrorKind};
use slob_method::{COLUMNS, RowView, SchemaNo, Table};
use slob_server::chunks;
use slob_server::names::column_list;

use crate::catalog::{self, get};
use crate::error::failed;
use crate::namespace::table as name_of;

/// Keys that one query asks for.
const CHUNK: u64 = 256;

/// Reads the rows at `positions`, through the index of the main table; the scan table has none and is read through.
///
/// # Errors
/// If the table can't be read.
pub(crate) fn read_rows(
    client: &mut Client,
    schema: SchemaNo,
    table: Table,
    positions: &Range<u64>,
    visit: &mut dyn FnMut(&RowView<'_>),
) -> Result<(), EngineError> {
    let name = name_of(schema, table);
    let step = format!("reading {name}");
    let load = catalog::schema(client, schema, &step)?.load;
    let columns = column_list();
    match table {
        Table::Scan => {
            let Some(all) = chunks(positions, load.rows(table), u64::MAX).next() else { return Ok(()) };
            let sql = format!("SELECT custid, {columns} FROM {name} WHERE custid >= $1 AND custid < $2");
            let (first, end) = (all.start.cast_signed(), all.end.cast_signed());
            visit_rows(client, &sql, &[&first, &end], &step, |custid| custid, visit)
        }
        Table::Main => {
            let scatter = load.scatter(schema);
            let sql = format!("SELECT custid, {columns} FROM {name} WHERE custid = ANY ($1)");
            for chunk in chunks(positions, load.rows(table), CHUNK) {
                let keys: Vec<i64> = chunk.map(|position| scatter.key_at(position).cast_signed()).collect();
                let position_of = |custid| scatter.position_of_any(custid);
                visit_rows(client, &sql, &[&keys], &step, position_of, visit)?;
            }
            Ok(())
        }
    }
}

fn visit_rows(
    client: &mut Client,
    sql: &str,
    parameters: &[&(dyn ToSql + Sync)],
    step: &str,
    position_of: impl Fn(u64) -> u64,
    visit: &mut dyn FnMut(&RowView<'_>),
) -> Result<(), EngineError> {
    let fail = |error: postgres::Error| {
        let said = failed(step, &error);
        if error.code().is_some_and(speaks_of_damage) { said.with_kind(ErrorKind::Data) } else { said }
    };
    let mut rows = client.query_raw(sql, parameters.iter().copied()).map_err(fail)?;
    while let Some(row) = rows.next().map_err(fail)? {
        let custid = get::<i64>(&row, 0, step)?.cast_unsigned();
        let columns = texts(&row, step)?;
        visit(&RowView { position: position_of(custid), custid, columns, filler: &[] });
    }
    Ok(())
}

/// What the server can't make sense of is damaged, however it puts it: a length that is none ends in an "invalid memory
/// alloc request size" (XX000), a letter that is none in an error of the encoding (class 22), a block that is none in one of
/// the system (class 58). A lock that is not to be had (55P03) is not damage.
fn speaks_of_damage(code: &SqlState) -> bool {
    ["XX", "22", "54", "58"].iter().any(|class| code.code().starts_with(class))
}

/// The bytes of a text as they are stored: those of a damaged one need not be letters. An absent text is an empty one, which
/// no verification takes for sound.
struct Raw<'a>(&'a [u8]);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(raw))
    }

    fn accepts(kind: &Type) -> bool {
        <&str as FromSql<'_>>::accepts(kind)
    }
}

fn texts<'a>(row: &'a Row, step: &str) -> Result<[&'a [u8]; COLUMNS], EngineError> {
    let mut columns = [&[][..]; COLUMNS];
    for (i, column) in columns.iter_mut().enumerate() {
        *column = get::<Option<Raw<'_>>>(row, i + 1, step)?.map_or(&[][..], |text| text.0);
    }
    Ok(columns)
}
