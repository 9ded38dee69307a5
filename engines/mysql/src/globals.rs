//! Settings of a whole server that are changed for a while.

use std::sync::Arc;

use mysql::Conn;
use mysql::prelude::Queryable;
use slob_engine::Unfinished;
use slob_server::Connector as _;

use crate::connect::Connector;
use crate::error::is_denied;

/// Settings of one server that were changed, with what they were before. All of them are put back when it is dropped.
pub(crate) struct Globals {
    connector: Arc<Connector>,
    endpoint: usize,
    /// In the order in which they were changed.
    before: Vec<(&'static str, String)>,
    /// There as long as something is changed.
    unfinished: Option<Unfinished>,
}

impl Globals {
    /// Nothing is changed yet.
    pub(crate) fn new(connector: &Arc<Connector>, endpoint: usize) -> Self {
        Self { connector: Arc::clone(connector), endpoint, before: Vec::new(), unfinished: None }
    }

    /// Changes a setting.
    ///
    /// # Errors
    /// If it fails. Unless the role may not change it, it may be changed all the same, and is put back like the others.
    pub(crate) fn set(
        &mut self,
        conn: &mut Conn,
        name: &'static str,
        value: &str,
    ) -> Result<(), mysql::Error> {
        let Some(before) = conn.query_first::<String, _>(format!("SELECT @@GLOBAL.{name}"))? else {
            return Ok(());
        };
        self.unfinished.get_or_insert_with(Unfinished::begin);
        let result = conn.query_drop(statement(name, value));
        if !result.as_ref().is_err_and(is_denied) {
            self.before.push((name, before));
        }
        result
    }

    /// Puts everything back, through `conn` or, where there is none that serves, through a new connection. Returns, in
    /// sentences, what is still changed.
    pub(crate) fn put_back(mut self, conn: Option<&mut Conn>) -> Vec<String> {
        conn.into_iter().for_each(|conn| drop(self.through(conn)));
        let error = self.anew();
        let left = std::mem::take(&mut self.before);
        let error = error.map_or_else(String::new, |error| format!(" ({error})"));
        left.iter()
            .map(|(name, value)| {
                let remedy = statement(name, value);
                format!("{name} was changed temporarily and could not be restored{error}: run {remedy}.")
            })
            .collect()
    }

    /// Puts back what it can, the last that was changed first: each value is then allowed beside the others.
    fn through(&mut self, conn: &mut Conn) -> Option<mysql::Error> {
        let mut fault = None;
        let mut left = Vec::new();
        while let Some((name, value)) = self.before.pop() {
            if let Err(error) = conn.query_drop(statement(name, &value)) {
                fault = Some(error);
                left.push((name, value));
            }
        }
        left.reverse();
        self.before = left;
        fault
    }

    /// The same through a new connection, if there is anything left; says what failed.
    fn anew(&mut self) -> Option<String> {
        if self.before.is_empty() {
            return None;
        }
        match self.connector.connect(self.endpoint) {
            Ok(mut conn) => self.through(&mut conn).map(|error| error.to_string()),
            Err(error) => Some(error.to_string()),
        }
    }
}

fn statement(name: &str, value: &str) -> String {
    format!("SET GLOBAL {name} = {value}")
}

impl Drop for Globals {
    fn drop(&mut self) {
        // A server that is gone has forgotten what it was told; one that can't be reached can't be told.
        let _ = self.anew();
    }
}
