//! Traces a process for some seconds: `cargo run -p slob-trace --example trace -- PID SECONDS [BLOCK_BYTES [MAJOR:MINOR]]`.
#![allow(clippy::print_stdout)]

use std::time::Duration;

use slob_trace::Tracer;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [pid, seconds, more @ ..] = &arguments[..] else {
        return Err("usage: trace PID SECONDS [BLOCK_BYTES [MAJOR:MINOR]]".into());
    };
    let tracer = Tracer::start(more.first().map_or(Ok(8192), |bytes| bytes.parse())?)?;
    if let Some((major, minor)) = more.get(1).and_then(|text| text.split_once(':')) {
        tracer.count_neighbours([(major.parse()?, minor.parse()?)])?;
    }
    tracer.watch([pid.parse()?])?;
    let begun = tracer.counts()?;
    std::thread::sleep(Duration::from_secs_f64(seconds.parse()?));
    let trace = tracer.counts()?.since(&begun);
    for (span, durations) in &trace.spans {
        let us = |percent| durations.percentile(percent).map_or(0.0, |ns| ns as f64 / 1e3);
        let mean = durations.mean().unwrap_or_default() / 1e3;
        let name = span.name();
        println!(
            "{name}: {} mean {mean:.2} p50 {:.1} p99 {:.1} p99.9 {:.1}",
            durations.count(),
            us(50.0),
            us(99.0),
            us(99.9)
        );
    }
    trace.slow_reads.iter().for_each(|(ns, slow)| println!("from {} us: {slow:?}", ns / 1000));
    trace.requests.iter().for_each(|requests| println!("{requests:?}"));
    Ok(())
}
