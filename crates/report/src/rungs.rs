//! The rungs from a device up to a database: the same blocks, read by each path.

use crate::Answer;
use serde::{Serialize, Serializer};
use slob_host::{ProbeStep, ReadPath};
use slob_record::Record;

use crate::html::chart::{Axis, Bar, Bars, Chart, Colour, Drawing, Trace, Unit};
use crate::html::layout::{Section, View, lead};
use crate::page::{Column, Page, Table};
use slob_facts::format::{Format, duration_us, percent, significant};
use slob_facts::measured::ratio;
use slob_facts::table::Cell;
use slob_facts::{Grade, Question, Run, figure};

/// A way to a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    Without(ReadPath),
    /// By the database's own reads, past its buffer cache.
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

/// Reads by one path: what they cost, or why they are not possible.
#[derive(Clone, Debug)]
pub struct Rung {
    path: Path,
    reads: Option<Reads>,
    remarks: Vec<String>,
    /// Why these are not the reads of its path.
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
    pub fn impossible(path: Path, why: &str) -> Self {
        let remarks = vec![format!("not possible: {}", why.trim_end_matches('.'))];
        Self { path, reads: None, remarks, doubt: None }
    }

    pub fn of_step(path: Path, step: &ProbeStep) -> Self {
        match (&step.figures, &step.error) {
            (Some(step), None) => {
                let (p50_us, p99_us) = (Some(step.p50_us), Some(step.p99_us));
                let (per_s, cpu_us, mean_us) = (step.iops, step.cpu_us_per_op, step.mean_us);
                Self {
                    path,
                    reads: Some(Reads { per_s, cpu_us, mean_us, p50_us, p99_us }),
                    remarks: Vec::new(),
                    doubt: None,
                }
            }
            (_, why) => Self::impossible(path, why.as_deref().unwrap_or("it read nothing")),
        }
    }

    /// A run whose operations read one block each.
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
        let doubt = doubt(path, &figures, per_s);
        let settings = record.server.settings.iter().filter(|setting| setting.name == IO_METHOD);
        let settings = settings.map(|setting| format!("{IO_METHOD}={}", setting.value));
        Self { path, reads: Some(reads), remarks: settings.chain(doubt.clone()).collect(), doubt }
    }
}

/// A server's setting of the way it reads.
const IO_METHOD: &str = "io_method";

/// Why a run's reads are not those of its path.
fn doubt(path: Path, figures: &Run<'_>, per_s: f64) -> Option<String> {
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
    let verdict = figures.verdicts().iter().find(|verdict| verdict.question == Question::Physical);
    let verdict = verdict.filter(|verdict| path == Path::Storage && verdict.answer != Grade::Good);
    let verdict = verdict.map(|verdict| format!("'Physical?': {}", verdict.sentence()));
    let parts: Vec<String> = share.into_iter().chain(verdict).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Rungs in the order of the way up, with what they have in common.
#[derive(Clone, Debug)]
pub struct Rungs {
    pub about: String,
    pub rungs: Vec<Rung>,
}

impl Rungs {
    fn reads(&self, path: Path) -> Option<Reads> {
        self.rungs.iter().find(|rung| rung.path == path)?.reads
    }

    /// The bottom and the top in a sentence.
    fn words(&self) -> String {
        let device = self.reads(Path::Without(ReadPath::Device));
        let (Some(device), Some(database)) = (device, self.reads(Path::Storage)) else {
            return self.about.clone();
        };
        let storage = self.rungs.iter().find(|rung| rung.path == Path::Storage);
        if let Some(doubt) = storage.and_then(|rung| rung.doubt.as_ref()) {
            let doubt = doubt.trim_end_matches('.');
            return format!(
                "{} What the database adds to a read of the device is not known: {doubt}.",
                self.about
            );
        }
        let times =
            |of: Option<f64>| of.map(|times| format!(" ({} times)", significant(times))).unwrap_or_default();
        let cpu = device.cpu_us.zip(database.cpu_us).map(|(device, database)| {
            let (more, of, to) = (times(ratio(database, device)), significant(device), significant(database));
            format!(", and {to} us of CPU{more} instead of {of} us")
        });
        format!(
            "{} From the device a read takes {}, through the database {}{}{}.",
            self.about,
            duration_us(device.mean_us),
            duration_us(database.mean_us),
            times(ratio(database.mean_us, device.mean_us)),
            cpu.unwrap_or_default()
        )
    }

    fn write(&self, page: &mut Page) {
        page.table(&self.table().part(1, "reads_per_s"..="p99_us"));
        for rung in self.rungs.iter().filter(|rung| !rung.remarks.is_empty()) {
            page.hanging(&format!("{}:", rung.path.name()), &rung.remarks.join("; "));
        }
    }

    /// Mean time and CPU time of a read, from the device at the top down to the database.
    fn chart(&self) -> Chart {
        let measured = || self.rungs.iter().filter_map(|rung| Some((rung.path.name(), rung.reads?)));
        let bars = |name, colour, beside: f64, of: fn(&Reads) -> Option<f64>| {
            let bars = measured().enumerate().filter_map(|(place, (path, reads))| {
                let us = of(&reads)?;
                let hover = format!("{path}, {name}: {}", duration_us(us));
                let at = beside - place as f64;
                Some(Bar { at, width: 0.38, length: us / 1e6, error: None, cut: None, hover })
            });
            Trace::Bars(Bars { is_horizontal: true, ..Bars::new(name, colour, bars.collect()) })
        };
        let bars = vec![
            bars("mean time", Colour::Device, 0.2, |reads| Some(reads.mean_us)),
            bars("CPU time", Colour::User, -0.2, |reads| reads.cpu_us),
        ];
        let names = measured().enumerate().map(|(place, (path, _))| (-(place as f64), path.to_owned()));
        let y = Axis::linear("", Unit::Plain).named(names);
        let height_px = 90 + 52 * measured().count() as u32;
        let drawing = Drawing::new(Axis::linear("time of a read", Unit::Seconds), y, bars);
        Chart {
            id: "rungs".into(),
            title: "A read by each path".into(),
            about: "The mean time that its reader waits, and the CPU time in it.".into(),
            source: "reads of one block, timed by their reader; CPU time of this program, or of the server"
                .into(),
            body: match measured().next() {
                Some(_) => Ok(Drawing { height_px, ..drawing }),
                None => Err("nothing was measured".into()),
            },
        }
    }
}

/// The rows of the table.
impl Serialize for Rungs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.table().to_json().serialize(serializer)
    }
}

impl Answer for Rungs {
    const NAME: &'static str = "ladder";

    fn page(&self) -> Page {
        let mut page = Page::default();
        page.section("The ladder");
        page.paragraph(&self.words());
        self.write(&mut page);
        page
    }

    fn view(&self) -> View {
        View {
            title: "OpenSLOB ladder".into(),
            heading: "The ladder".into(),
            lead: lead(&self.words()),
            has_links: false,
            sections: vec![
                Section::new("ladder", "").charts(vec![self.chart()]).part("Rungs", |page| self.write(page)),
            ],
            source: "Measured one rung after the other; the runs of the database are saved records.".into(),
        }
    }

    fn table(&self) -> Table {
        let columns = [
            Column::left("Rung").named("rung"),
            Column::right("Reads/s").named("reads_per_s"),
            Column::right("CPU us/read").named("cpu_us_per_read"),
            Column::right("Mean us").named("mean_us"),
            Column::right("p50 us").named("p50_us"),
            Column::right("p99 us").named("p99_us"),
            Column::left("Remarks").named("remarks"),
        ];
        let row = |rung: &Rung| {
            let cell =
                |format: Format, of: fn(&Reads) -> Option<f64>| format.cell(rung.reads.as_ref().and_then(of));
            let remarks = Some(rung.remarks.join("; ")).filter(|remarks| !remarks.is_empty());
            [
                Cell::from(rung.path.name()),
                cell(Format::Whole, |reads| Some(reads.per_s)),
                cell(Format::Significant, |reads| reads.cpu_us),
                cell(Format::Micros, |reads| Some(reads.mean_us)),
                cell(Format::Micros, |reads| reads.p50_us),
                cell(Format::Micros, |reads| reads.p99_us),
                remarks.into(),
            ]
        };
        Table::new(columns).with_rows(self.rungs.iter().map(row))
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
        let device = Rung { path, reads: Some(reads), remarks: Vec::new(), doubt: None };
        let rungs =
            Rungs { about: "Blocks.".into(), rungs: vec![device, Rung::of_run(Path::Storage, &record)] };
        let words = rungs.words();
        assert!(words.contains("is not known: 'Physical?': No: your OS page cache"), "{words}");
        assert!(!words.contains("times") && !rungs.are_good(), "{words}");
    }

    #[test]
    fn each_rung_has_its_cost_or_its_reason() {
        let mut record = records::direct_read_run();
        let storage = Rung::of_run(Path::Storage, &record);
        let reads = storage.reads.unwrap();
        let cpu_s = record.db_cpu.as_ref().unwrap().cpu.total_s();
        let operations = reads.per_s * record.window.unwrap().seconds;
        assert!((reads.cpu_us.unwrap() * operations / 1e6 / cpu_s - 1.0).abs() < 1e-9);
        let cached = Rung::of_run(Path::BufferCache, &record);
        assert!(cached.remarks[0].contains("were physical: give the database a larger cache"), "{cached:?}");
        record.server.settings.push(slob_measure::Setting::new("io_method", "worker"));
        assert_eq!(Rung::of_run(Path::Storage, &record).remarks[0], "io_method=worker");
        let past = Rung::impossible(Path::PastCache, "no such reads.");
        let rungs = Rungs { about: "Blocks of 8 KiB.".into(), rungs: vec![past, storage] };
        let text = rungs.text();
        assert!(text.contains("past the buffer cache: not possible: no such reads"), "{text}");
        assert!(rungs.html().contains("database, from storage"));
        assert!(rungs.table().json().contains("\"cpu_us_per_read\": null"), "{}", rungs.table().json());
    }
}
