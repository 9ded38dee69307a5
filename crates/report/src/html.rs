//! The HTML report: one file that needs nothing else, neither network nor server.
//!
//! A page consists of verdicts and figures as cards, the sections of the text report as tables, and charts. A `Chart` is
//! data: the page's own script hands it to the chart library, which is packed within the page. Everything of a record
//! passes through `escape` or `maud`, and the page's Content-Security-Policy lets no other script run and no request leave.

mod awr_page;
pub(crate) mod chart;
pub(crate) mod escape;
pub(crate) mod heat;
mod index_page;
pub(crate) mod layout;
pub(crate) mod run_charts;
mod run_page;

pub use self::awr_page::{AwrInterval, Begins, awr_page};
pub use self::index_page::{IndexRow, OtherPage, index_page, rows_of_page};
pub use self::run_page::run_page;
