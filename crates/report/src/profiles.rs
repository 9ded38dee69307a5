//! Profiles of databases, plans made from them and their headroom, as text and as pages.

mod headroom;
mod headrooms;
mod page;
mod plan;
mod text;
mod words;

pub use self::headroom::{Headroom, HeadroomStep, headroom_page, headroom_sentence, headroom_text};
pub use self::headrooms::{
    Contender, Couple, Headrooms, Multiple, MultipleStep, Row, Search, headrooms_page, headrooms_text,
};
pub use self::page::profile_page;
pub use self::plan::{PlanView, plan_conf, plan_table};
pub use self::text::{profile_diff_text, profile_text};

use crate::html::blocks;
use crate::page::Page;

/// A part of a section of a page of HTML; nothing where there is nothing to show.
fn part(page: Page) -> String {
    match page.into_blocks().as_slice() {
        [] => String::new(),
        blocks => format!("<div class=\"part\">\n{}</div>\n", blocks::html(blocks)),
    }
}
