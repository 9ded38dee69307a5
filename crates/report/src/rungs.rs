//! The rungs from a device up to a database: the same blocks, read by each path.

use itertools::Itertools;
use serde::{Serialize, Serializer};
use slob_host::{ProbeStep, ReadPath};
use slob_record::Record;

use slob_facts::format::{Format, duration_us, percent, plural, significant};
use slob_facts::measured::ratio;
use slob_facts::{Grade, GroupVerdicts, Judged, Question, Run, figure};
use slob_page::Answer;
use slob_page::chart::{Axis, Bar, Bars, Chart, Colour, Drawing, Unit};
use slob_page::layout::{Section, View, lead};
use slob_page::{Column, ColumnOf, Page, Table};
use slob_stats::summary;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    Without(ReadPath),
    PastCache,
    BufferCache,
    Storage,
}

impl Path {
    pub fn name(self) -> &'static str {
        match self {
            Self::Without(ReadPath::Device) => "device, direct I/O",
            Self::Without(ReadPath::FileSystem) => "file system",
            Self::Without(ReadPath::PageCache) => "page cache",
            Self::PastCache => "past the buffer cache",
            Self::BufferCache => "buffer cache",
            Self::Storage => "database, from storage",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Rung {
    path: Path,
    repeats: Vec<Reads>,
    remarks: Vec<String>,
    verdicts: Vec<(String, Vec<Judged>)>,
    doubt: Option<String>,
}

#[derive(Clone, Copy, Debug)]
struct Reads {
    per_s: f64,
    cpu_us: Option<f64>,
    mean_us: f64,
    p50_us: Option<f64>,
    p99_us: Option<f64>,
}

impl Rung {
    fn new(path: Path, reads: Option<Reads>) -> Self {
        let repeats = reads.into_iter().collect();
        Self { path, repeats, remarks: Vec::new(), verdicts: Vec::new(), doubt: None }
    }

    pub fn impossible(path: Path, why: &str) -> Self {
        let remarks = vec![format!("not possible: {}", why.trim_end_matches('.'))];
        Self { remarks, ..Self::new(path, None) }
    }

    pub fn of_step(path: Path, step: &ProbeStep) -> Self {
        match (&step.figures, &step.error) {
            (Some(step), None) => {
                let (p50_us, p99_us) = (Some(step.p50_us), Some(step.p99_us));
                let (per_s, cpu_us, mean_us) = (step.iops, step.cpu_us_per_op, step.mean_us);
                Self::new(path, Some(Reads { per_s, cpu_us, mean_us, p50_us, p99_us }))
            }
            (_, why) => Self::impossible(path, why.as_deref().unwrap_or("it read nothing")),
        }
    }

    pub fn of_run(path: Path, record: &Record) -> Self {
        let figures = Run::of(record);
        let value = |of: &figure::Figure| of.of(&figures);
        let (Some(per_s), Some(mean_us)) =
            (value(&figure::OPERATIONS_PER_S), value(&figure::OPERATION_MEAN_US))
        else {
            return Self::impossible(path, "the run measured no operations");
        };
        let operations = value(&figure::OPERATIONS);
        let reads = Reads {
            per_s,
            cpu_us: value(&figure::DB_CPU_S).zip(operations).and_then(|(cpu_s, n)| ratio(1e6 * cpu_s, n)),
            mean_us,
            p50_us: value(&figure::OPERATION_P50_US),
            p99_us: value(&figure::OPERATION_P99_US),
        };
        let judged = |of: &&Judged| path != Path::BufferCache || of.question != Question::Physical;
        let judged: Vec<Judged> = figures.judged().iter().filter(judged).cloned().collect();
        let doubt = doubt(path, &figures, &judged, per_s);
        let settings = record.server.settings.iter().filter(|setting| setting.name == IO_METHOD);
        let settings = settings.map(|setting| format!("{IO_METHOD}={}", setting.value));
        let (remarks, verdicts) = (settings.collect(), vec![(record.id.clone(), judged)]);
        Self { remarks, verdicts, doubt, ..Self::new(path, Some(reads)) }
    }

    fn add(&mut self, repeat: Self) {
        self.repeats.extend(repeat.repeats);
        self.verdicts.extend(repeat.verdicts);
        self.remarks = self.remarks.drain(..).chain(repeat.remarks).unique().collect();
        self.doubt = self.doubt.take().or(repeat.doubt);
    }

    fn reads(&self) -> Option<Reads> {
        let mean = |of: fn(&Reads) -> Option<f64>| {
            summary::mean(&self.repeats.iter().map(of).collect::<Option<Vec<f64>>>()?)
        };
        Some(Reads {
            per_s: mean(|reads| Some(reads.per_s))?,
            cpu_us: mean(|reads| reads.cpu_us),
            mean_us: mean(|reads| Some(reads.mean_us))?,
            p50_us: mean(|reads| reads.p50_us),
            p99_us: mean(|reads| reads.p99_us),
        })
    }

    fn spread_percent(&self) -> Option<f64> {
        let means: Vec<f64> = self.repeats.iter().map(|reads| reads.mean_us).collect();
        let spread = summary::maximum(&means)? - summary::minimum(&means)?;
        ratio(100.0 * spread, summary::mean(&means)?).filter(|_| means.len() > 1)
    }

    fn verdict(&self) -> Option<String> {
        let runs = self.verdicts.iter().map(|(run, verdicts)| (run.as_str(), verdicts.as_slice()));
        GroupVerdicts::of(runs).in_short()
    }

    fn remarks(&self) -> Option<String> {
        Some(self.remarks.iter().chain(&self.doubt).join("; ")).filter(|all| !all.is_empty())
    }
}

const IO_METHOD: &str = "io_method";

fn doubt(path: Path, figures: &Run<'_>, judged: &[Judged], per_s: f64) -> Option<String> {
    const FEW: f64 = 0.01;
    const MOST: f64 = 0.9;
    let physical = figure::PHYSICAL_READS_PER_S.of(figures).and_then(|reads| ratio(reads, per_s));
    let is_other = match path {
        Path::BufferCache => physical.is_some_and(|physical| physical > FEW),
        _ => physical.is_some_and(|physical| physical < MOST),
    };
    let remedy = match path {
        Path::BufferCache => "give the database a larger cache",
        _ => "load more data, or give the database a smaller cache",
    };
    let share = physical.filter(|_| is_other).map(|physical| percent(100.0 * physical));
    let share = share.map(|share| format!("{share} % of the reads were physical: {remedy}"));
    let doubts = |judged: &&Judged| match judged.question {
        Question::Physical => judged.answer != Grade::Good,
        question => judged.answer == Grade::Bad && figure::OPERATION_MEAN_US.rests_on.contains(&question),
    };
    let verdict = judged.iter().find(doubts).map(Judged::words);
    Some(share.into_iter().chain(verdict).join("; ")).filter(|parts| !parts.is_empty())
}

#[derive(Clone, Debug)]
pub struct Rungs {
    pub about: String,
    pub rungs: Vec<Rung>,
}

impl Rungs {
    /// Rungs of the same path are its repeats.
    pub fn of(about: String, measured: Vec<Rung>) -> Self {
        let mut rungs: Vec<Rung> = Vec::new();
        for one in measured {
            match rungs.iter_mut().find(|rung| rung.path == one.path) {
                Some(rung) => rung.add(one),
                None => rungs.push(one),
            }
        }
        Self { about, rungs }
    }

    fn rung(&self, path: Path) -> Option<(&Rung, Reads)> {
        let rung = self.rungs.iter().find(|rung| rung.path == path)?;
        Some((rung, rung.reads()?))
    }

    fn words(&self) -> String {
        let ends = self.rung(Path::Without(ReadPath::Device)).zip(self.rung(Path::Storage));
        let Some(((lowest, device), (storage, database))) = ends else { return self.about.clone() };
        if let Some(doubt) = &storage.doubt {
            let (about, doubt) = (&self.about, doubt.trim_end_matches('.'));
            return format!("{about} What the database adds to a read of the device is not known: {doubt}.");
        }
        let in_words = |times| format!(" ({} times)", significant(times));
        let times = |of: Option<f64>| of.map(in_words).unwrap_or_default();
        let cpu = device.cpu_us.zip(database.cpu_us).map(|(device, database)| {
            let (more, of, to) = (times(ratio(database, device)), significant(device), significant(database));
            format!(", and {to} us of CPU{more} instead of {of} us")
        });
        let noise = match lowest.spread_percent().zip(storage.spread_percent()) {
            None => "Each was measured once: their noise is not known.".to_owned(),
            Some((device, database)) => format!(
                "The times of {} differ by {} % and by {} %.",
                plural(storage.repeats.len() as u64, "repeat"),
                percent(device),
                percent(database)
            ),
        };
        format!(
            "{} From the device a read takes {}, through the database {}{}{}. {noise}",
            self.about,
            duration_us(device.mean_us),
            duration_us(database.mean_us),
            times(ratio(database.mean_us, device.mean_us)),
            cpu.unwrap_or_default()
        )
    }

    fn write_rungs(&self, page: &mut Page) {
        page.table(&self.table().part(1, "reads_per_s"..="verdict"));
        for (rung, remarks) in self.rungs.iter().filter_map(|rung| Some((rung, rung.remarks()?))) {
            page.hanging(&format!("{}:", rung.path.name()), &remarks);
        }
    }

    fn chart(&self) -> Chart {
        let name = |rung: &Rung| match rung.doubt {
            None => rung.path.name().to_owned(),
            Some(_) => format!("{} (doubtful)", rung.path.name()),
        };
        let measured = || self.rungs.iter().filter_map(|rung| Some((name(rung), rung.reads()?)));
        let bars = |name, colour, beside: f64, of: fn(&Reads) -> Option<f64>| {
            let bars = measured().enumerate().filter_map(|(place, (path, reads))| {
                let us = of(&reads)?;
                let hover = format!("{path}, {name}: {}", duration_us(us));
                Some(Bar::new(beside - place as f64, 0.38, us / 1e6, hover))
            });
            Bars::new(name, colour, bars.collect())
        };
        let bars = [
            bars("mean time", Colour::Device, 0.2, |reads| Some(reads.mean_us)),
            bars("CPU time", Colour::User, -0.2, |reads| reads.cpu_us),
        ];
        let names = measured().map(|(path, _)| path).collect();
        let drawing = Drawing::of_rows(Axis::linear("time of a read", Unit::Seconds), names, 52, bars);
        Chart {
            id: "rungs".into(),
            title: "A read by each path".into(),
            about: "The mean time that its reader waits, and the CPU time in it.".into(),
            source: "reads of one block, timed by their reader; CPU time of this program, or of the server"
                .into(),
            body: measured().next().map(|_| drawing).ok_or("nothing was measured".into()),
        }
    }
}

impl Serialize for Rungs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.table().to_json().serialize(serializer)
    }
}

impl Answer for Rungs {
    const NAME: &'static str = "probe";

    fn write(&self, page: &mut Page) {
        page.section("The ladder");
        page.paragraph(&self.words());
        self.write_rungs(page);
    }

    fn view(&self) -> View {
        View {
            title: "OpenSLOB ladder".into(),
            heading: "The ladder".into(),
            lead: lead(&self.words()),
            sections: vec![
                Section::new("ladder", "")
                    .charts(vec![self.chart()])
                    .part("Rungs", |page| self.write_rungs(page)),
            ],
            source:
                "Measured one rung after the other, in turns; the runs of the database are saved records."
                    .into(),
        }
    }

    fn table(&self) -> Table {
        let (left, right) =
            (|head, name| Column::left(head).named(name), |head, name| Column::right(head).named(name));
        let of = |rung: &Rung, format: Format, of: fn(&Reads) -> Option<f64>| {
            format.cell(rung.reads().as_ref().and_then(of))
        };
        let columns: [ColumnOf<'_, Rung>; 9] = [
            (left("Rung", "rung"), &|rung| rung.path.name().into()),
            (right("Reads/s", "reads_per_s"), &|rung| of(rung, Format::Whole, |reads| Some(reads.per_s))),
            (right("CPU us/read", "cpu_us_per_read"), &|rung| {
                of(rung, Format::Significant, |reads| reads.cpu_us)
            }),
            (right("Mean us", "mean_us"), &|rung| of(rung, Format::Micros, |reads| Some(reads.mean_us))),
            (right("p50 us", "p50_us"), &|rung| of(rung, Format::Micros, |reads| reads.p50_us)),
            (right("p99 us", "p99_us"), &|rung| of(rung, Format::Micros, |reads| reads.p99_us)),
            (right("Spread %", "spread_percent"), &|rung| Format::Percent.cell(rung.spread_percent())),
            (left("Verdict", "verdict"), &|rung| rung.verdict().into()),
            (left("Remarks", "remarks"), &|rung| rung.remarks().into()),
        ];
        Table::of(&self.rungs, columns)
    }

    fn are_good(&self) -> bool {
        self.rungs.iter().all(|rung| rung.doubt.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_testing::records;

    /// 'Through the database .314 times' was said of reads that the page cache served.
    #[test]
    fn a_rung_that_a_cache_served_is_not_praised() {
        let record = records::page_cache_run();
        let reads = Reads { per_s: 5e3, cpu_us: None, mean_us: 207.0, p50_us: None, p99_us: None };
        let path = Path::Without(ReadPath::Device);
        let device = Rung::new(path, Some(reads));
        let rungs = Rungs::of("Blocks.".into(), vec![device, Rung::of_run(Path::Storage, &record)]);
        let words = rungs.words();
        assert!(words.contains("is not known: Physical? is BAD: No: your OS page cache"), "{words}");
        assert!(!words.contains("times") && !rungs.are_good(), "{words}");
    }

    #[test]
    fn repeats_of_a_rung_are_its_noise() {
        let at = |path, mean_us| {
            let (per_s, cpu_us) = (1e6 / mean_us, None);
            Rung::new(path, Some(Reads { per_s, cpu_us, mean_us, p50_us: None, p99_us: None }))
        };
        let device = Path::Without(ReadPath::Device);
        let turns = [at(device, 90.0), at(Path::Storage, 190.0), at(device, 110.0), at(Path::Storage, 210.0)];
        let once = Rungs::of("Blocks.".into(), turns[..2].to_vec());
        assert!(
            once.words().ends_with("Each was measured once: their noise is not known."),
            "{}",
            once.words()
        );
        let rungs = Rungs::of("Blocks.".into(), turns.to_vec());
        let words = rungs.words();
        assert!(words.contains("takes 100 us, through the database 200 us (2.000 times)"), "{words}");
        assert!(words.ends_with("The times of 2 repeats differ by 20.0 % and by 10.0 %."), "{words}");
        assert_eq!(rungs.rungs.len(), 2);
        // One of them is no read of its path, and so is their mean.
        let mut turns = turns.to_vec();
        turns.push(Rung::of_run(Path::Storage, &records::page_cache_run()));
        let spoiled = Rungs::of("Blocks.".into(), turns);
        assert!(spoiled.words().contains("is not known") && !spoiled.are_good(), "{}", spoiled.words());
        assert!(spoiled.table().json().contains("BAD: Physical?"), "{}", spoiled.table().json());
    }

    #[test]
    fn each_rung_has_its_cost_or_its_reason() {
        let mut record = records::direct_read_run();
        let storage = Rung::of_run(Path::Storage, &record);
        let reads = storage.reads().unwrap();
        let cpu_s = record.db_cpu.as_ref().unwrap().cpu.total_s();
        let operations = reads.per_s * record.window.unwrap().seconds;
        assert!((reads.cpu_us.unwrap() * operations / 1e6 / cpu_s - 1.0).abs() < 1e-9);
        let cached = Rung::of_run(Path::BufferCache, &record);
        let remarks = cached.remarks().unwrap();
        assert!(remarks.contains("were physical: give the database a larger cache"), "{remarks}");
        record.server.settings.push(slob_measure::Setting::new("io_method", "worker"));
        assert_eq!(Rung::of_run(Path::Storage, &record).remarks[0], "io_method=worker");
        let past = Rung::impossible(Path::PastCache, "no such reads.");
        let rungs = Rungs::of("Blocks of 8 KiB.".into(), vec![past, storage]);
        let text = rungs.text(None);
        assert!(text.contains("past the buffer cache: not possible: no such reads"), "{text}");
        assert!(rungs.html().contains("database, from storage"));
        assert!(rungs.table().json().contains("\"cpu_us_per_read\": null"), "{}", rungs.table().json());
    }
}
