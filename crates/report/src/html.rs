//! Pages of runs, and the index of a folder.

mod index_page;
pub(crate) mod run_charts;
mod run_page;

pub use self::index_page::{IndexRow, OtherPage, index_page, is_index_page, rows_of_page};
pub use self::run_page::run_page;
