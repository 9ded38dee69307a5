//! Platforms compared, as a page.

use super::super::headroom::times;
use super::super::part;
use super::{Headrooms, Row, text};
use crate::format::plural;
use crate::html::document::{self, Document};
use crate::html::escape;
use crate::html::plot::{Absent, Axis, Chart, Colour, Drawing, MeasuredBar, MeasuredBars, Trace, Unit};
use crate::page::Page;

/// A campaign of searches as one HTML file that needs no network.
#[must_use]
pub fn headrooms_page(headrooms: &Headrooms) -> String {
    let chart = chart(headrooms);
    let mut said = Page::new();
    said.section("What differs");
    text::said(&mut said, headrooms);
    let mut table = Page::new();
    table.section("How many times each carries");
    table.table(&text::table(headrooms));
    let mut searches = Page::new();
    searches.section("Each search");
    searches.table(&text::searches(headrooms));
    let [said, table, searches] = [said, table, searches].map(part);
    let main = format!(
        "{}<section id=\"compared\">\n<h2>Compared</h2>\n{said}<div class=\"charts\">\n{}</div>\n{table}</section>\n\
         <section id=\"searches\">\n<h2>Searches</h2>\n{searches}</section>\n",
        document::NO_CHARTS,
        chart.container()
    );
    let names: Vec<&str> = headrooms.variants.iter().map(|row| row.name.as_str()).collect();
    let counted = format!("{}: {}", plural(names.len() as u64, "variant"), names.join(", "));
    Document {
        title: "Headroom compared".into(),
        header: format!(
            "<h1>Headroom compared</h1>\n<p class=\"lead\">{}</p>\n<p class=\"id\">{}</p>\n{}",
            escape::prose(&text::carried(headrooms)),
            escape::text(&counted),
            document::links([("compared", "Compared"), ("searches", "Searches")].into_iter())
        ),
        main,
        said: "From what each search of the campaign found; its own page is in its folder.".into(),
        slob_version: env!("CARGO_PKG_VERSION"),
        holds: String::new(),
        charts: vec![&chart],
    }
    .html()
}

fn chart(headrooms: &Headrooms) -> Chart {
    let traces: Vec<Trace> = headrooms.variants.iter().enumerate().filter_map(bar).collect();
    let names = headrooms.variants.iter().enumerate().map(|(at, row)| (at as f64, row.name.clone()));
    let axis = Axis { names: names.collect(), ..Axis::linear("variant", Unit::Plain) };
    let axis = axis.ranging(-0.5, headrooms.variants.len() as f64 - 0.5);
    Chart {
        id: "multiples".into(),
        title: "Times the demand".into(),
        about: "The median of the searches of each variant; the line at its end is its interval, which a single search does \
                not have."
            .into(),
        source: "the searches of the campaign".into(),
        body: match traces.is_empty() {
            true => Err(Absent("no variant has a number".into())),
            false => Ok(Drawing::new(axis, Axis::linear("times the demand", Unit::Plain), traces)),
        },
    }
}

fn bar((at, row): (usize, &Row)) -> Option<Trace> {
    const WIDTH: f64 = 0.6;
    let value = row.median?;
    let interval = row.low.zip(row.high);
    let within =
        interval.map(|(low, high)| format!(", {} to {}", times(low), times(high))).unwrap_or_default();
    let searches = plural(row.searches.len() as u64, "search");
    let hover = format!("{}: {} times{within}; {searches}", row.name, times(value));
    let bar = MeasuredBar { at: at as f64, width: WIDTH, value, interval, hover };
    Some(Trace::Measured(MeasuredBars {
        name: row.name.clone(),
        colour: Colour::Variant(at),
        bars: vec![bar],
    }))
}
