//! A prepared statement for repeated execution. rusqlite's statements borrow their connection, and its cache looks each one up by
//! its text, which costs at a work unit of 1.

use std::ffi::{CStr, c_int, c_void};
use std::ptr::{NonNull, null_mut};

use rusqlite::Connection;
use rusqlite::ffi::{
    self, SQLITE_DONE, SQLITE_OK, SQLITE_PREPARE_PERSISTENT, SQLITE_ROW, sqlite3, sqlite3_stmt,
};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    Int(i64),
    /// UTF-8.
    Text(&'a [u8]),
    Blob(&'a [u8]),
}

pub(crate) struct Statement {
    raw: NonNull<sqlite3_stmt>,
    db: *mut sqlite3,
}

// SAFETY: any one thread at a time may use a connection and its statements. &mut self ensures that for the statement, and the
// owner of both, which moves them together, for the connection.
unsafe impl Send for Statement {}

impl Statement {
    /// # Safety
    /// The statement must be dropped before the connection, and not be used by one thread while another uses the
    /// connection.
    pub(crate) unsafe fn prepare(connection: &Connection, sql: &str) -> rusqlite::Result<Self> {
        // SAFETY: the connection is open during the borrow; the caller keeps it open for as long as the statement lives.
        let db = unsafe { connection.handle() };
        let mut raw = null_mut();
        let len = c_int::try_from(sql.len()).unwrap_or(c_int::MAX);
        // SAFETY: the text is `len` bytes, and SQLite needs no terminator with a length given.
        let rc = unsafe {
            ffi::sqlite3_prepare_v3(
                db,
                sql.as_ptr().cast(),
                len,
                SQLITE_PREPARE_PERSISTENT,
                &mut raw,
                null_mut(),
            )
        };
        match NonNull::new(raw) {
            Some(raw) if rc == SQLITE_OK => Ok(Self { raw, db }),
            _ => Err(failure(db, rc)),
        }
    }

    /// Returns the first column of the first row. In autocommit mode its changes are committed when this returns.
    pub(crate) fn run(&mut self, values: &[Value<'_>]) -> rusqlite::Result<Option<i64>> {
        let result = self.bind(values).and_then(|()| self.step());
        let raw = self.raw.as_ptr();
        // SAFETY: the statement is live. Clearing drops the pointers that bind() gave away.
        let reset = unsafe {
            let reset = ffi::sqlite3_reset(raw);
            if values.iter().any(|value| !matches!(value, Value::Int(_))) {
                ffi::sqlite3_clear_bindings(raw);
            }
            reset
        };
        // The reset ends the transaction.
        match result {
            Ok(_) if reset != SQLITE_OK => Err(failure(self.db, reset)),
            other => other,
        }
    }

    pub(crate) fn changed(&self) -> u64 {
        // SAFETY: the connection outlives the statement.
        u64::try_from(unsafe { ffi::sqlite3_changes64(self.db) }).unwrap_or(0)
    }

    fn bind(&mut self, values: &[Value<'_>]) -> rusqlite::Result<()> {
        let raw = self.raw.as_ptr();
        for (i, value) in values.iter().enumerate() {
            let index = c_int::try_from(i + 1).unwrap_or(c_int::MAX);
            let place = |bytes: &[u8]| (bytes.as_ptr(), c_int::try_from(bytes.len()).unwrap_or(c_int::MAX));
            // SAFETY: the statement is live. Without a destructor SQLite keeps the pointers and copies nothing; run() clears
            // them before the borrow of `values` ends.
            let rc = unsafe {
                match *value {
                    Value::Int(number) => ffi::sqlite3_bind_int64(raw, index, number),
                    Value::Text(text) => {
                        let (start, len) = place(text);
                        ffi::sqlite3_bind_text(raw, index, start.cast(), len, None)
                    }
                    Value::Blob(bytes) => {
                        let (start, len) = place(bytes);
                        ffi::sqlite3_bind_blob(raw, index, start.cast::<c_void>(), len, None)
                    }
                }
            };
            if rc != SQLITE_OK {
                return Err(failure(self.db, rc));
            }
        }
        Ok(())
    }

    fn step(&mut self) -> rusqlite::Result<Option<i64>> {
        // SAFETY: the statement is live; a column is read only from a row.
        unsafe {
            match ffi::sqlite3_step(self.raw.as_ptr()) {
                SQLITE_ROW => Ok(Some(ffi::sqlite3_column_int64(self.raw.as_ptr(), 0))),
                SQLITE_DONE => Ok(None),
                rc => Err(failure(self.db, rc)),
            }
        }
    }
}

impl Drop for Statement {
    fn drop(&mut self) {
        // SAFETY: prepared once, finalised once, while the connection is open.
        unsafe { ffi::sqlite3_finalize(self.raw.as_ptr()) };
    }
}

fn failure(db: *mut sqlite3, rc: c_int) -> rusqlite::Error {
    // SAFETY: the connection is open; the message is copied before anything can replace it.
    let (code, message) = unsafe {
        let extended = ffi::sqlite3_extended_errcode(db);
        let message = CStr::from_ptr(ffi::sqlite3_errmsg(db)).to_string_lossy().into_owned();
        (if extended & 0xff == rc & 0xff { extended } else { rc }, message)
    };
    rusqlite::Error::SqliteFailure(ffi::Error::new(code), Some(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection() -> Connection {
        crate::initialise().unwrap();
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c BLOB)").unwrap();
        connection
    }

    #[test]
    fn statements_bind_execute_and_count() {
        let connection = connection();
        // SAFETY: dropped before the connection, used on this thread only.
        let (mut insert, mut count) = unsafe {
            let insert = Statement::prepare(&connection, "INSERT INTO t VALUES(?1, ?2, ?3)").unwrap();
            (insert, Statement::prepare(&connection, "SELECT COUNT(*) FROM t WHERE b = ?1").unwrap())
        };
        for i in 0..3 {
            let values = [Value::Int(i), Value::Text(b"x"), Value::Blob(&[0, 1])];
            assert_eq!(insert.run(&values).unwrap(), None);
            assert_eq!(insert.changed(), 1);
        }
        assert_eq!(count.run(&[Value::Text(b"x")]).unwrap(), Some(3));
        assert_eq!(count.run(&[Value::Text(b"y")]).unwrap(), Some(0));
        let blob: Vec<u8> = connection.query_row("SELECT c FROM t WHERE a=2", [], |row| row.get(0)).unwrap();
        assert_eq!(blob, [0, 1]);
    }

    #[test]
    fn errors_name_the_cause_and_leave_the_statement_usable() {
        let connection = connection();
        // SAFETY: dropped before the connection, used on this thread only.
        unsafe {
            assert!(Statement::prepare(&connection, "SELECT nothing FROM t").is_err());
            let mut insert = Statement::prepare(&connection, "INSERT INTO t(a) VALUES(?1)").unwrap();
            insert.run(&[Value::Int(1)]).unwrap();
            let error = insert.run(&[Value::Int(1)]).unwrap_err();
            assert!(error.to_string().contains("UNIQUE"), "{error}");
            insert.run(&[Value::Int(2)]).unwrap();
        }
    }
}
