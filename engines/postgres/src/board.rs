//! A database of PostgreSQL as a board.

use std::error::Error;

use postgres::types::{IsNull, ToSql, Type, private::BytesMut, to_sql_checked};
use postgres::{Client, Row};
use slob_engine::{Board, BoardKind, Result, Value};
use slob_server::{Connector as _, Environment};
use slob_spec::Target;

use crate::connect::Connector;
use crate::sql::InStep;

pub(crate) const KIND: BoardKind = BoardKind { form: "postgres://USER@HOST/DATABASE", open };

struct PostgresBoard(Client);

fn open(target: &Target) -> Result<Box<dyn Board>> {
    let mut client = Connector::new(target, &Environment::process())?.connect_any()?;
    client
        .batch_execute("SET application_name = 'slob publish'; SET lock_timeout = '60s'")
        .in_step("preparing a connection")?;
    Ok(Box::new(PostgresBoard(client)))
}

#[derive(Debug)]
struct Bound<'a>(&'a Value);

impl ToSql for Bound<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self.0 {
            Value::Null => Ok(IsNull::Yes),
            Value::Whole(count) if *kind == Type::FLOAT8 => (*count as f64).to_sql(kind, out),
            Value::Whole(count) => count.to_sql(kind, out),
            Value::Number(number) => number.to_sql(kind, out),
            Value::Text(text) => text.to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// Its parameters have numbers.
fn numbered(sql: &str) -> String {
    let mut parts = sql.split('?');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.zip(1..).fold(first, |sql, (part, number)| format!("{sql}${number}{part}"))
}

fn values(row: &Row) -> Result<Vec<Value>, postgres::Error> {
    let value = |(at, column): (usize, &postgres::Column)| {
        Ok(match *column.type_() {
            Type::INT8 => row.try_get::<_, Option<i64>>(at)?.map_or(Value::Null, Value::Whole),
            Type::FLOAT8 => row.try_get::<_, Option<f64>>(at)?.map_or(Value::Null, Value::Number),
            _ => row.try_get::<_, Option<String>>(at)?.map_or(Value::Null, Value::Text),
        })
    };
    row.columns().iter().enumerate().map(value).collect()
}

impl Board for PostgresBoard {
    fn words(&self) -> [&'static str; 2] {
        ["TEXT", ""]
    }

    fn begin(&mut self) -> Result<()> {
        // The number is of this lock alone. It is released with the transaction.
        self.0
            .batch_execute("BEGIN; SELECT pg_advisory_xact_lock(7305621843)")
            .in_step("waiting for the board's lock")
    }

    fn commit(&mut self) -> Result<()> {
        self.0.batch_execute("COMMIT").in_step("committing")
    }

    fn roll_back(&mut self) {
        let _ = self.0.batch_execute("ROLLBACK");
    }

    fn execute(&mut self, step: &str, sql: &str, values: &[Value]) -> Result<()> {
        let bound: Vec<Bound<'_>> = values.iter().map(Bound).collect();
        let bound: Vec<&(dyn ToSql + Sync)> = bound.iter().map(|value| value as _).collect();
        self.0.execute(&numbered(sql), &bound).map(drop).in_step(step)
    }

    fn query(&mut self, step: &str, sql: &str, asked: &[Value]) -> Result<Vec<Vec<Value>>> {
        let bound: Vec<Bound<'_>> = asked.iter().map(Bound).collect();
        let bound: Vec<&(dyn ToSql + Sync)> = bound.iter().map(|value| value as _).collect();
        let rows = self.0.query(&numbered(sql), &bound).in_step(step)?;
        rows.iter().map(values).collect::<Result<_, _>>().in_step(step)
    }
}
