//! The HTML report: one file that needs nothing else, neither network nor server.
//!
//! A page is made of three kinds of things: verdicts and figures as cards, the sections of the text report as tables,
//! and charts. A `Chart` is data: what to draw, in colours that are named by meaning; the page's own script
//! hands it to the chart library, which lies compressed within the page. Everything of a record that reaches the page
//! goes through `escape`, and the page's Content-Security-Policy lets no other script run and no request leave.

mod assets;
mod blocks;
mod cards;
pub(crate) mod chart;
mod document;
pub(crate) mod escape;
mod index_page;
pub(crate) mod layout;
mod page;
mod raw;
pub(crate) mod run_charts;
mod series;

pub use self::index_page::{IndexRow, OtherPage, index_page, rows_of_page};
pub use self::page::run_page;
pub use self::series::{HeatColumn, HeatMap, LineChart, SeriesGroup, SeriesPage, series_page};
pub use crate::analysis::analysis_page;
pub use crate::diff::diff_page;
