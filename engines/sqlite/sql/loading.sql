-- A slice is a transaction with a rollback journal: the next program that opens the file after a kill rolls it back. Nothing
-- is synced until the schema is complete.
PRAGMA journal_mode = TRUNCATE;
PRAGMA synchronous = OFF;
