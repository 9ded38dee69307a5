//! The Oracle engine on a real server.

mod contract;
