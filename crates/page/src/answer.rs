//! The answer of a command in every form; its exit code follows from it.

use serde::Serialize;
use slob_facts::table::Table;
use strum::IntoStaticStr;

use crate::layout::View;
use crate::page::Page;

/// The order is a script's: what is not known must not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "title_case")]
pub enum Outcome {
    Passed,
    NotKnown,
    Failed,
}

pub trait Answer: Serialize {
    const NAME: &'static str;

    fn write(&self, page: &mut Page);

    fn page(&self) -> Page {
        let mut page = Page::default();
        self.write(&mut page);
        page
    }

    fn view(&self) -> View;

    fn table(&self) -> Table;

    fn are_good(&self) -> bool;

    fn outcome(&self) -> Option<Outcome> {
        None
    }

    /// For a terminal of so many columns, or for files and pipes.
    fn text(&self, columns: Option<usize>) -> String {
        self.page().into_text(columns)
    }

    fn markdown(&self) -> String {
        self.page().into_markdown()
    }

    fn csv(&self) -> String {
        self.table().csv()
    }

    fn html(&self) -> String {
        self.view().html()
    }

    fn json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}
