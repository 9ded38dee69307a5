//! A chart as data: what is drawn, on which axes, and where it comes from.
//!
//! Nothing here knows a record: one chart can hold the traces of several runs. Colours have names by meaning, which
//! the style sheet turns into colours of the light and the dark theme, see [`Colour`].

mod axis;
mod colour;
mod measured;
mod number;
mod overlay;
mod trace;

use std::borrow::Cow;

use serde_json::{Value, json};

use super::escape;

pub(crate) use self::axis::{Axis, Unit};
pub(crate) use self::colour::Colour;
pub(crate) use self::measured::{MeasuredBar, MeasuredBars};
pub(crate) use self::trace::{Bar, Bars, Fill, Heat, Line, Stroke, Trace};

/// A chart with what is said of it.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    /// Its name within the page.
    pub(crate) id: Cow<'static, str>,
    /// Its heading.
    pub(crate) title: String,
    /// What it shows, in a sentence.
    pub(crate) about: String,
    /// Where its figures come from.
    pub(crate) source: String,
    /// What is drawn, or why there is nothing.
    pub(crate) body: Result<Drawing, Absent>,
}

/// Why a chart can't be drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Absent(pub(crate) String);

/// What is drawn.
#[derive(Clone, Debug)]
pub(crate) struct Drawing {
    /// The data, the lowest first.
    pub(crate) traces: Vec<Trace>,
    /// The horizontal axis.
    pub(crate) x: Axis,
    /// The vertical axis on the left.
    pub(crate) y: Axis,
    /// The vertical axis on the right, if there is one.
    pub(crate) right: Option<Axis>,
    /// Whether `x` is the time of the run: such charts are zoomed together.
    pub(crate) is_timeline: bool,
    /// Ranges of `x` that do not count, in its unit: shown, but shaded.
    pub(crate) shades: Vec<(f64, f64)>,
    /// Places on `x` that were marked, in its unit, with what was said of them.
    pub(crate) marks: Vec<(f64, String)>,
    /// Height in CSS pixels.
    pub(crate) height_px: u32,
}

impl Drawing {
    /// A drawing of the usual height without shades.
    pub(crate) fn new(x: Axis, y: Axis, traces: Vec<Trace>) -> Self {
        Self {
            traces,
            x,
            y,
            right: None,
            is_timeline: false,
            shades: Vec::new(),
            marks: Vec::new(),
            height_px: 320,
        }
    }

    /// For the page's script.
    fn to_json(&self) -> Value {
        json!({
            "traces": self.traces.iter().map(Trace::to_json).collect::<Vec<_>>(),
            "x": self.x.to_json(),
            "y": self.y.to_json(),
            "right": self.right.as_ref().map(Axis::to_json),
            "timeline": self.is_timeline,
            "shades": self.shades.iter().map(|(from, to)| [number::of(*from), number::of(*to)]).collect::<Vec<_>>(),
            "marks": self.marks.iter().map(|(at, text)| json!([number::of(*at), escape::label(text)])).collect::<Vec<_>>(),
        })
    }
}

impl Chart {
    /// The chart's place in the page: heading, room for the drawing, caption.
    pub(crate) fn container(&self) -> String {
        let (id, title) = (&self.id, escape::text(&self.title));
        let about = escape::text(&self.about);
        let body = match &self.body {
            Ok(drawing) => format!(
                "<div class=\"plot\" data-chart=\"{id}\" role=\"img\" aria-label=\"{title}\" \
                 style=\"height:{}px\"></div>\n<p class=\"source\">Source: {}.</p>",
                drawing.height_px,
                escape::text(&self.source)
            ),
            Err(Absent(reason)) => format!("<p class=\"absent\">Not shown: {}.</p>", escape::text(reason)),
        };
        format!(
            "<figure class=\"chart\" id=\"{id}\">\n<figcaption><h3>{title}</h3><p>{about}</p></figcaption>\n{body}\n\
             </figure>\n"
        )
    }
}

/// The drawings of all charts by their names, for the page's script.
pub(crate) fn data(charts: &[&Chart]) -> Value {
    let drawn = charts
        .iter()
        .filter_map(|chart| Some((chart.id.clone().into_owned(), chart.body.as_ref().ok()?.to_json())));
    Value::Object(drawn.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_absent_says_why_and_leaves_no_room_for_a_drawing() {
        let chart = Chart {
            id: "x".into(),
            title: "A <b>".into(),
            about: String::new(),
            source: "s".into(),
            body: Err(Absent("nobody <measured>".into())),
        };
        let html = chart.container();
        assert!(
            html.contains("Not shown: nobody &lt;measured&gt;.") && !html.contains("data-chart"),
            "{html}"
        );
        assert_eq!(data(&[&chart]), json!({}));
    }
}
