//! The HTML report: one file without network. Everything of a record passes through `escape` or `maud`; the
//! Content-Security-Policy lets no other script run and no request leave.

mod awr_page;
pub(crate) mod chart;
pub(crate) mod escape;
pub(crate) mod heat;
mod index_page;
pub(crate) mod layout;
pub(crate) mod run_charts;
mod run_page;

pub use self::awr_page::{AwrInterval, Begins, awr_page};
pub use self::index_page::{IndexRow, OtherPage, index_page, is_index_page, rows_of_page};
pub use self::run_page::run_page;
