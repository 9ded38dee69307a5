//! Prints what the host is, what carries a folder, and what its device can do.
//!
//! `cargo run --release -p slob-host --example probe -- FOLDER [MIB [SECONDS [BUFFER_BLOCKS [SESSIONS [DEPTHS]]]]]`,
//! where SESSIONS and DEPTHS are comma-separated lists.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::sync::atomic::AtomicBool;

use slob_host::{Device, HostInfo, ProbeEvent, ProbePlan, ProbeStep, free_space, run_probe};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let plan = plan(&arguments)?;
    println!("{:#?}", HostInfo::read());
    println!("{:#?}", Device::behind(&plan.dir)?);
    println!("{} bytes free", free_space(&plan.dir)?);
    println!("{}", header());
    let mut show = |event| {
        if let ProbeEvent::StepFinished(step) = event {
            println!("{}", line(&step));
        }
    };
    let result = run_probe(&plan, &mut show, &AtomicBool::new(false))?;
    match result.ceiling_iops() {
        Some(iops) => println!("ceiling: {iops:.0} reads/s"),
        None => println!("ceiling: no read step has figures"),
    }
    Ok(())
}

fn plan(arguments: &[String]) -> Result<ProbePlan, Box<dyn Error>> {
    let argument = |i: usize| arguments.get(i).map(String::as_str);
    let list = |text: &str| -> Result<Vec<u32>, Box<dyn Error>> {
        let numbers = text.split(',').filter(|part| !part.is_empty()).map(str::parse);
        Ok(numbers.collect::<Result<Vec<u32>, _>>()?)
    };
    let mut plan = ProbePlan::new(argument(0).unwrap_or("."));
    if let Some(mib) = argument(1) {
        plan.file_bytes = mib.parse::<u64>()? << 20;
    }
    if let Some(seconds) = argument(2) {
        plan.seconds_per_step = seconds.parse()?;
    }
    if let Some(blocks) = argument(3) {
        plan.buffer_blocks = blocks.parse()?;
    }
    if let Some(sessions) = argument(4) {
        plan.sync_sessions = list(sessions)?;
    }
    if let Some(depths) = argument(5) {
        plan.async_depths = list(depths)?;
    }
    Ok(plan)
}

fn header() -> String {
    format!(
        "{:<17}{:>6}{:>12}{:>10}{:>10}{:>10}{:>10}{:>10}{:>11}",
        "step", "n", "ops/s", "MB/s", "mean us", "p50 us", "p99 us", "p99.9 us", "CPU us/op"
    )
}

fn line(step: &ProbeStep) -> String {
    let name = format!("{:?}", step.kind);
    let mut line = format!("{name:<17}{:>6}", step.sessions_or_depth);
    if let Some(figures) = &step.figures {
        let cpu = figures.cpu_us_per_op.map_or("?".to_owned(), |us| format!("{us:.2}"));
        line += &format!(
            "{:>12.0}{:>10.1}{:>10.1}{:>10.1}{:>10.1}{:>10.1}{cpu:>11}",
            figures.iops, figures.mb_per_s, figures.mean_us, figures.p50_us, figures.p99_us, figures.p999_us
        );
    }
    for text in step.error.iter().chain(&step.note) {
        line += &format!("  {text}");
    }
    line
}
