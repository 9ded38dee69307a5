//! OpenSLOB: an answer in every form, and what a page is made of: blocks, tables, charts, a frame. One file without network.
//! Text of a record passes through `escape` or `maud`; the Content-Security-Policy lets no other script run and no
//! request leave.
#![forbid(unsafe_code)]

mod answer;
mod awr_page;
mod awr_text;
pub mod chart;
pub mod escape;
pub mod heat;
pub mod layout;
mod page;

pub use answer::{Answer, Outcome};
pub use awr_page::{AwrInterval, Begins, awr_page};
pub use awr_text::{check_text, diff_table, printed_table};
pub use page::{Block, Column, ColumnOf, Page, Table, WIDTH, narrow};
