//! Blocks and tables of a page as HTML.

use maud::{Markup, PreEscaped, html};

use super::escape::{markup, text};
use crate::page::Block;
use crate::table::Table;

/// Blocks as HTML. Headings are those of subsections; rules and bare lines are for text only.
pub(crate) fn html(blocks: &[Block]) -> String {
    // Facts that follow each other are one list, and so are hanging paragraphs.
    let list = |block: &Block| match block {
        Block::Fact(..) => 1,
        Block::Hanging(..) => 2,
        _ => 0,
    };
    let groups = blocks.chunk_by(|a, b| list(a) == list(b));
    html! {
        @for group in groups {
            @match list(&group[0]) {
                1 => dl class="facts" { @for fact in group { (one(fact)) } }
                2 => ul { @for item in group { (one(item)) } }
                _ => { @for block in group { (one(block)) } }
            }
        }
    }
    .into_string()
}

fn one(block: &Block) -> Markup {
    match block {
        Block::Section(title) => html! { h3 { (markup(title)) } },
        Block::Fact(name, value) => {
            html! { dt { (PreEscaped(text(name))) } dd { (PreEscaped(text(value))) } }
        }
        Block::Hanging(_, text) => html! { li { (markup(text)) } },
        Block::Paragraph(text) => html! { p class="note" { (markup(text)) } },
        Block::Table(table) => self::table(table),
        Block::Line(_) | Block::Rule(_) => html! {},
    }
}

/// A table that scrolls sideways on a narrow screen, with a button that copies it.
pub(crate) fn table(table: &Table) -> Markup {
    let class = |of_numbers: bool| of_numbers.then_some("n");
    html! {
        div class="table" {
            button type="button" class="copy" title="Copy the table, for a spreadsheet" { "Copy" }
            div class="scroll" {
                table {
                    thead {
                        tr {
                            @for column in &table.columns {
                                th class=[class(column.is_of_numbers())] { (markup(&column.head)) }
                            }
                        }
                    }
                    tbody {
                        @for row in &table.rows {
                            tr {
                                @for (at, column) in table.columns.iter().enumerate() {
                                    td class=[class(column.is_of_numbers())] {
                                        @if let Some(cell) = row.get(at) { (markup(&cell.show())) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{Column, Page};

    #[test]
    fn tables_keep_their_numbers_to_the_right() {
        let mut page = Page::new();
        page.section("Operation latency (us)");
        page.table(
            &Table::new([Column::left("Kind"), Column::right("Count")]).with_rows([["SELECT", "18,000"]]),
        );
        let html = html(&page.into_blocks());
        assert!(html.contains("<h3>Operation latency (µs)</h3>"), "{html}");
        assert!(html.contains("<td>SELECT</td><td class=\"n\">18,000</td>"), "{html}");
    }

    #[test]
    fn facts_are_one_list() {
        let mut page = Page::new();
        page.fact("Run", "a");
        page.fact("Seed", "1");
        let html = html(&page.into_blocks());
        assert_eq!((html.matches("<dl").count(), html.matches("</dl>").count()), (1, 1));
        assert!(html.contains("<dt>Seed</dt>"), "{html}");
    }
}
