//! The block device over time: queue, time of a request, utilisation.

use slob_host::DeviceUse;
use slob_record::Record;

use super::absent;
use super::timeline::{Timeline, has_any};
use crate::counters::ratio;
use crate::html::plot::{Absent, Axis, Chart, Colour, Drawing, Line, Trace, Unit};

/// Requests in flight, their times, and how long the device was busy.
pub(super) fn charts(record: &Record) -> Vec<Chart> {
    let device = record.host.as_ref().and_then(|host| host.device.as_ref());
    let name = device.and_then(|device| device.device.top.as_ref()).map(|top| top.name.clone());
    let source = match name {
        Some(name) => format!("the kernel's counters of {name}, for everybody on this host"),
        None => "the kernel's block statistics".into(),
    };
    let chart = |id: &'static str, title: &str, about: &str, body| Chart {
        id: id.into(),
        title: title.into(),
        about: about.into(),
        source: source.clone(),
        body,
    };
    vec![
        chart(
            "device-await",
            "Time of a request",
            "Mean time of a read and of a write, queueing included (iostat's r_await and w_await).",
            awaits(record),
        ),
        chart(
            "device-queue",
            "Requests in flight",
            "Mean length of the queue (iostat's aqu-sz).",
            one(record, "requests", Unit::Plain, |device, seconds| {
                ratio(device.weighted_ms as f64, seconds * 1e3)
            }),
        ),
        chart(
            "device-utilisation",
            "Utilisation",
            "Share of the time with at least one request in flight. A device that serves many at once is not full at \
             100 %.",
            one(record, "utilisation", Unit::Percent, |device, seconds| {
                ratio(device.busy_ms as f64 / 10.0, seconds).map(|percent| percent.min(100.0))
            })
            .map(|drawing| Drawing { y: drawing.y.clone().ranging(0.0, 105.0), ..drawing }),
        ),
    ]
}

/// One line of the device.
fn one(
    record: &Record,
    name: &str,
    unit: Unit,
    of: impl Fn(&DeviceUse, f64) -> Option<f64>,
) -> Result<Drawing, Absent> {
    let time = Timeline::of(record)?;
    let y = time.seen(|interval, seconds| of(interval.device.as_ref()?, seconds));
    if !has_any(&y) {
        return absent(no_device(record));
    }
    let line = Line::new(name, Colour::Device, unit, time.x(), y);
    let drawing = time.drawing(Axis::linear(name, unit), vec![Trace::Line(line)]);
    Ok(Drawing { height_px: 240, ..drawing })
}

fn awaits(record: &Record) -> Result<Drawing, Absent> {
    let time = Timeline::of(record)?;
    let mean = |of: fn(&DeviceUse) -> (u64, u64)| {
        time.seen(|interval, _| {
            let (ms, requests) = of(interval.device.as_ref()?);
            ratio(ms as f64 / 1e3, requests as f64)
        })
    };
    let lines = [
        ("read", Colour::Device, mean(|device| (device.read_time_ms, device.reads))),
        ("write", Colour::Updates, mean(|device| (device.write_time_ms, device.writes))),
    ];
    let lines = lines.into_iter().filter(|(_, _, y)| has_any(y));
    let traces: Vec<Trace> = lines
        .map(|(name, colour, y)| Trace::Line(Line::new(name, colour, Unit::Seconds, time.x(), y)))
        .collect();
    if traces.is_empty() {
        return absent(no_device(record));
    }
    Ok(Drawing { height_px: 240, ..time.drawing(Axis::linear("mean time", Unit::Seconds), traces) })
}

/// Why there is nothing of a device.
fn no_device(record: &Record) -> String {
    let note = record.host.as_ref().and_then(|host| host.device_note.as_deref());
    match (note, &record.host) {
        (Some(note), _) => note.trim_end_matches('.').to_owned(),
        (None, Some(_)) => "no block device behind the data was sampled".into(),
        (None, None) => "host counters were switched off, or the run ended before they were read".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn requests_that_did_not_happen_have_no_mean_time() {
        // The fixture's device only reads, and took no time for it.
        let drawing = awaits(&fixture::direct_read_run()).unwrap();
        assert_eq!(drawing.traces.len(), 1);
    }

    #[test]
    fn the_reason_why_there_is_no_device_is_told() {
        let mut record = fixture::direct_read_run();
        fixture::with_gap(&mut record, 0..72);
        record.host.as_mut().unwrap().device_note = Some("the data lie on another host.".into());
        for chart in charts(&record) {
            assert_eq!(chart.body.unwrap_err().0, "the data lie on another host");
        }
    }
}
