//! The HTML report: one file that needs nothing else, neither network nor server.
//!
//! A page is made of three kinds of things: verdicts and figures as cards, the sections of the text report as tables,
//! and charts. A `Chart` is data: what to draw, in colours that are named by meaning; the page's own script
//! hands it to the chart library, which lies compressed within the page. Everything of a record that reaches the page
//! goes through `escape`, and the page's Content-Security-Policy lets no other script run and no request leave.

mod analysis_page;
mod assets;
pub(crate) mod blocks;
mod cards;
mod charts;
mod diff_page;
pub(crate) mod document;
pub(crate) mod escape;
mod index_page;
mod page;
pub(crate) mod plot;
mod raw;
mod series;

pub use self::analysis_page::analysis_page;
pub use self::diff_page::diff_page;
pub use self::index_page::{IndexRow, OtherPage, index_page, rows_of_page};
pub use self::page::run_page;
pub use self::series::{HeatColumn, HeatMap, LineChart, SeriesGroup, SeriesPage, series_page};
