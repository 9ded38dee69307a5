//! Latency over time as a heat map.

use slob_record::Record;
use slob_stats::Histogram;

use super::timeline::Timeline;
use crate::html::plot::{Absent, Axis, Chart, Drawing, Heat, Trace, Unit};

/// Rows for each doubling of the latency.
pub(super) const ROWS_PER_DOUBLING: f64 = 4.0;

/// How many operations took how long, and when.
pub(super) fn chart(record: &Record) -> Chart {
    Chart {
        id: "latency-heat-map".into(),
        title: "Operation latency, all of it".into(),
        about: "Each cell is the number of operations that ended in its interval with its latency; both scales are \
                logarithmic. A second mode, a stall or a drift shows here when percentiles look calm."
            .into(),
        source: "the clock around each operation; a histogram for each interval".into(),
        body: drawing(record),
    }
}

fn drawing(record: &Record) -> Result<Drawing, Absent> {
    let time = Timeline::of(record)?;
    let columns: Vec<Vec<(i32, u64)>> = record
        .series
        .points()
        .map(|point| point.value.map(|interval| rows(&interval.latency)).unwrap_or_default())
        .collect();
    let filled = || columns.iter().flatten().map(|(row, _)| *row);
    let (Some(lowest), Some(highest)) = (filled().min(), filled().max()) else {
        return super::absent("no operation ended while the run lasted");
    };
    let mut counts = vec![vec![0; columns.len()]; (highest - lowest + 1) as usize];
    for (column, cells) in columns.iter().enumerate() {
        for (row, n) in cells {
            counts[(row - lowest) as usize][column] += n;
        }
    }
    let y_edges = (lowest..=highest + 1).map(|row| low_edge_ns(row) / 1e9).collect();
    let heat = Heat { x_edges: time.edges(), y_edges, counts, of: "operations" };
    let drawing = time.drawing(Axis::log("latency", Unit::Seconds), vec![Trace::Heat(heat)]);
    Ok(Drawing { height_px: 400, shades: Vec::new(), ..drawing })
}

/// The rows of a histogram's buckets with their counts; a bucket lies as a whole where its middle does.
pub(super) fn rows(latency: &Histogram) -> Vec<(i32, u64)> {
    let row = |(low, high, n): (u64, u64, u64)| {
        let middle = ((low + high) as f64 / 2.0).max(1.0);
        ((middle.log2() * ROWS_PER_DOUBLING).floor() as i32, n)
    };
    latency.buckets().map(row).collect()
}

/// Where a row begins, in nanoseconds.
pub(super) fn low_edge_ns(row: i32) -> f64 {
    (f64::from(row) / ROWS_PER_DOUBLING).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn heat(record: &Record) -> Heat {
        match &drawing(record).unwrap().traces[..] {
            [Trace::Heat(heat)] => heat.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_operation_is_in_one_cell_of_its_second() {
        let record = fixture::direct_read_run();
        let heat = heat(&record);
        assert_eq!(heat.x_edges.len(), record.series.len() + 1);
        assert_eq!(heat.y_edges.len(), heat.counts.len() + 1);
        for (column, point) in record.series.points().enumerate() {
            let sum: u64 = heat.counts.iter().map(|row| row[column]).sum();
            assert_eq!(sum, point.value.unwrap().ops.total());
        }
    }

    #[test]
    fn the_outer_rows_are_not_empty_and_hold_the_extremes() {
        let heat = heat(&fixture::update_run());
        let sum = |row: &Vec<u64>| row.iter().sum::<u64>();
        assert!(sum(heat.counts.first().unwrap()) > 0 && sum(heat.counts.last().unwrap()) > 0);
    }

    #[test]
    fn rows_hold_what_lies_between_their_edges() {
        let mut histogram = Histogram::new();
        for ns in [1, 100, 1_000, 123_456, 1_000_000_000, 1 << 42] {
            histogram.clear();
            histogram.record(ns);
            let (row, n) = rows(&histogram)[0];
            let middle = ns as f64;
            assert_eq!(n, 1);
            // A bucket is up to 1/64 wide, and may straddle an edge.
            assert!(
                low_edge_ns(row) * 0.99 <= middle && middle <= low_edge_ns(row + 1) * 1.02,
                "{ns} in {row}"
            );
        }
    }
}
