//! OpenSLOB: the PostgreSQL engine.
