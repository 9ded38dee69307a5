//! Bars of figures that are only known within an interval.

use serde_json::{Value, json};

use super::colour::Colour;
use super::number;
use crate::html::escape;

/// Bars from zero with what they are known within.
#[derive(Clone, Debug)]
pub(crate) struct MeasuredBars {
    /// For the legend.
    pub(crate) name: String,
    pub(crate) colour: Colour,
    pub(crate) bars: Vec<MeasuredBar>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MeasuredBar {
    /// Its middle on the horizontal axis.
    pub(crate) at: f64,
    /// Its width on that axis.
    pub(crate) width: f64,
    /// How long it is.
    pub(crate) value: f64,
    /// Between which ends the true value lies; `None` where that is not known.
    pub(crate) interval: Option<(f64, f64)>,
    /// What is shown under the pointer.
    pub(crate) hover: String,
}

impl MeasuredBars {
    pub(super) fn to_json(&self) -> Value {
        let each = |of: &dyn Fn(&MeasuredBar) -> Value| self.bars.iter().map(of).collect::<Value>();
        let end = |bar: &MeasuredBar, pick: fn((f64, f64)) -> f64| {
            number::or_null(bar.interval.map(|interval| (pick(interval) - bar.value).abs()))
        };
        let mut marker = json!({ "color": format!("{}/0.85", self.colour.token()), "line": { "width": 0 } });
        if self.colour.is_repeated() {
            marker["pattern"] = json!({ "shape": "/", "size": 7, "solidity": 0.5 });
        }
        json!({
            "type": "bar",
            "orientation": "v",
            "name": escape::label(&self.name),
            "x": each(&|bar| number::of(bar.at)),
            "y": each(&|bar| number::of(bar.value)),
            "width": each(&|bar| number::of(bar.width)),
            "hovertext": each(&|bar| Value::from(escape::label(&bar.hover))),
            "hovertemplate": "%{hovertext}<extra></extra>",
            "marker": marker,
            "error_y": {
                "type": "data",
                "symmetric": false,
                "array": each(&|bar| end(bar, |(_, high)| high)),
                "arrayminus": each(&|bar| end(bar, |(low, _)| low)),
                "color": "$text",
                "thickness": 1.4,
                "width": 4,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_told_by_their_distance_and_what_is_not_known_has_none() {
        let bar = |interval| MeasuredBar { at: 1.0, width: 0.4, value: 10.0, interval, hover: String::new() };
        let bars = MeasuredBars {
            name: "a".into(),
            colour: Colour::Variant(9),
            bars: vec![bar(Some((9.0, 12.5))), bar(None)],
        };
        let json = bars.to_json();
        assert_eq!(json["error_y"]["array"], json!([2.5, null]));
        assert_eq!(json["error_y"]["arrayminus"], json!([1, null]));
        assert_eq!(json["marker"]["color"], "$variant1/0.85");
        assert!(json["marker"]["pattern"].is_object(), "the second variant has this colour already");
        let second = MeasuredBars { colour: Colour::Variant(1), ..bars };
        assert!(second.to_json()["marker"]["pattern"].is_null());
    }
}
