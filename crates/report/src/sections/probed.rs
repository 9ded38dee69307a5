//! The answer of `slob probe`.

use serde::Serialize;
use slob_facts::format::{burst_credits, fixed, length, plural};
use slob_facts::table::Table;
use slob_host::UntilCliff;
use slob_record::SavedProbe;

use super::{device, setup};
use slob_page::Answer;
use slob_page::Page;
use slob_page::chart::{Axis, Chart, Colour, Drawing, Line, Unit, known, time_unit};
use slob_page::layout::{Section, View, lead};

pub(super) fn cliff_words(until: &UntilCliff, block_bytes: u32) -> String {
    let name = device::step_name(&until.step);
    let lasted = length(until.iops.len() as f64);
    let found = match (&until.bucket, &until.step.error) {
        (_, Some(error)) => format!("failed: {error}"),
        // Earlier steps spent some credits.
        (Some(bucket), None) => format!("{}.", burst_credits(bucket, block_bytes)),
        (None, None) => format!(
            "no cliff in {lasted}. The volume has no burst credits, more than these, or had spent them before; or other \
             programs used it meanwhile."
        ),
    };
    format!("Until the cliff, {name} {}: {found}", until.step.sessions_or_depth)
}

fn chart(until: &UntilCliff, block_bytes: u32) -> Chart {
    let (unit_s, unit) = time_unit(until.iops.len() as f64);
    let points = until.iops.iter().enumerate();
    let (x, y) = points.map(|(second, rate)| ((second as f64 + 0.5) / unit_s, Some(*rate))).unzip();
    let lines = known([Line::new("reads", Colour::Device, x, y)]);
    let (x, y) = (Axis::linear(unit, Unit::Plain), Axis::linear("reads per second", Unit::Count));
    let cliff = until
        .bucket
        .map(|bucket| (bucket.lasts_s / unit_s, format!("spent after {}", length(bucket.lasts_s))));
    Chart {
        id: "until-cliff".into(),
        title: "Reads until burst credits are spent".into(),
        about: cliff_words(until, block_bytes),
        source: "reads that this program completed in each second".into(),
        body: Drawing { marks: cliff.into_iter().collect(), ..Drawing::new(x, y, lines) }
            .or("the reads ended within a second"),
    }
}

fn all(page: &mut Page, probe: &SavedProbe) {
    page.fact("Host", &probe.host);
    if let Some(device) = &probe.device {
        setup::device(page, device);
    }
    device::steps(page, probe);
    match probe.result.ceiling_iops() {
        Some(ceiling) => page.paragraph(&format!("Ceiling: {} random reads/s.", fixed(ceiling, 0))),
        None if probe.result.plan.is_durable_only() => {}
        None => page.paragraph("Ceiling: not known, no step of random reads was completed."),
    }
}

#[derive(Serialize)]
#[serde(transparent)]
pub struct ProbeAnswer<'a>(pub &'a SavedProbe);

impl Answer for ProbeAnswer<'_> {
    const NAME: &'static str = "probe";

    fn write(&self, page: &mut Page) {
        page.section("Device without a database (probe)");
        all(page, self.0);
    }

    fn view(&self) -> View {
        let Self(probe) = self;
        let charts = probe.result.until_cliff.iter().map(|until| chart(until, probe.result.plan.block_bytes));
        View {
            title: "OpenSLOB probe".into(),
            heading: "The device without a database".into(),
            lead: lead(&format!("{}, {}.", probe.host, plural(probe.result.steps.len() as u64, "step"))),
            sections: vec![
                Section::new("probe", "").charts(charts.collect()).part("Steps", |page| all(page, self.0)),
            ],
            source: "Measured one step after the other, by this program alone.".into(),
        }
    }

    fn table(&self) -> Table {
        device::steps_table(&self.0.result.steps)
    }

    fn are_good(&self) -> bool {
        self.0.result.steps.iter().all(|step| step.error.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_host::GroupLimits;
    use slob_stats::TokenBucket;
    use slob_testing::records;

    fn probe(bucket: Option<TokenBucket>) -> SavedProbe {
        let mut probe = records::direct_read_run().probe.unwrap();
        let step = probe.result.steps[4].clone();
        let iops = [vec![16_000.0; 1860], vec![3000.0; 186]].concat();
        probe.result.until_cliff = Some(UntilCliff { step, iops, bucket });
        probe
    }

    #[test]
    fn a_cliff_has_words_and_a_chart_and_its_absence_has_reasons() {
        let credits = 13_000.0 * 1860.0;
        let bucket = TokenBucket { burst_per_s: 16_000.0, base_per_s: 3000.0, lasts_s: 1860.0, credits };
        let text = ProbeAnswer(&probe(Some(bucket))).text(None).replace('\n', " ");
        assert!(
            text.contains("Until the cliff, random read, in flight 64: fell from 16,000 to 3,000 IOPS"),
            "{text}"
        );
        assert!(text.contains("it lasts 31 min.") && text.contains("Ceiling: 118,000"), "{text}");
        let page = ProbeAnswer(&probe(Some(bucket))).html();
        assert!(page.contains("spent after 31 min") && page.contains("id=\"until-cliff\""));
        assert!(
            page.contains("Ceiling: 118,000") && page.contains("File system"),
            "the page lacks the device"
        );
        assert!(ProbeAnswer(&probe(None)).text(None).contains("no cliff in 34 min"));
        assert!(!ProbeAnswer(&probe(None)).html().contains("spent after"));
        let json = ProbeAnswer(&probe(Some(bucket))).json().unwrap();
        assert_eq!(serde_json::from_str::<SavedProbe>(&json).unwrap(), probe(Some(bucket)));
    }

    #[test]
    fn a_probe_says_the_limits_of_its_own_control_group() {
        let mut probe = probe(None);
        assert!(!ProbeAnswer(&probe).text(None).contains("own limits"));
        let io = vec!["8:0 riops=3000".to_owned()];
        probe.result.limits = Some(GroupLimits { io, path: "/g".into(), ..GroupLimits::default() });
        for view in [ProbeAnswer(&probe).text(None), ProbeAnswer(&probe).html()] {
            assert!(view.contains("own limits: I/O 8:0 riops=3000"), "{view}");
        }
    }

    #[test]
    fn a_run_page_shows_the_cliff_of_its_probe() {
        let mut record = records::direct_read_run();
        record.probe = Some(probe(None));
        let text = crate::text_report(&record, None);
        assert!(text.contains("no cliff in 34 min"), "{text}");
    }
}
