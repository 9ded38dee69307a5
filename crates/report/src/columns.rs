//! Tables of runs. The default columns are those of `awr_info`, see [`AWR_COLUMNS`].

use slob_awr::info::Head;
use slob_record::Status;

use slob_facts::format::Format;
use slob_facts::measured::{device_name, timed_events};
use slob_facts::table::{self, Cell, Table};
use slob_facts::{Claim, Figure, GroupVerdicts, Question, Run, Standing, figure, figure_named};

#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub name: &'static str,
    pub unit: &'static str,
    pub source: &'static str,
    /// The series of a run takes longer to read.
    pub needs_series: bool,
    get: Get,
}

type Words = fn(&Run<'_>) -> Option<String>;

#[derive(Clone, Copy, Debug)]
enum Get {
    Words(Words),
    Verdict(Question),
    Worst,
    Figure(&'static Figure),
}

pub const ID: Column = Column::words("id", "the run's folder", |run| Some(run.record.id.clone()));
pub const NAME: Column = Column::words("name", "RUN_NAME", |run| Some(run.record.name.clone()));
pub const STATUS: Column = Column::words("status", "completed, interrupted or failed", |run| {
    Some(status_word(&run.record.status).into())
});
pub const STARTED: Column =
    Column::words("started", "when the sessions were started (UTC)", |run| Some(second(run.record.started)));
pub const TARGET: Column =
    Column::words("target", "TARGET, without a password", |run| Some(run.record.target.clone()));

pub const VERDICTS_IN_SHORT: Column = Column {
    needs_series: true,
    get: Get::Worst,
    ..Column::words("verdicts", "the worst of the verdicts, with the questions that have it", |_| None)
};

pub const LEADS: Column = Column::words(
    "leads",
    "the duration that leads: operation, or response where sessions wait outside operations",
    |run| run.is_measured().then(|| run.lead().word().to_owned()),
);

const RUN: [Column; 15] = [
    ID,
    NAME,
    STATUS,
    STARTED,
    Column::words("ended", "when they had all stopped (UTC)", |run| Some(second(run.record.ended))),
    TARGET,
    Column::words("product", "the server's product", |run| Some(run.record.server.product.clone())),
    Column::words("version", "the server's version", |run| Some(run.record.server.version.clone())),
    Column::words("slob_version", "the release that ran the test", |run| {
        Some(run.record.slob_version.clone())
    }),
    Column::words(
        "digest",
        "the digest that the record was saved with: `slob verify --run` checks it",
        |run| run.record.digest.clone(),
    ),
    Column::words("host", "the host's name", |run| Some(run.record.host.as_ref()?.info.hostname.clone())),
    Column::words("device", "the block device behind the data", |run| {
        device_name(run.record).map(str::to_owned)
    }),
    Column::words("file_system", "the file system of the data", |run| {
        Some(run.record.host.as_ref()?.device.as_ref()?.device.file_system.clone())
    }),
    Column::words("redo_stress", "REDO_STRESS", |run| {
        Some(run.record.workload.redo_stress.as_str().to_owned())
    }),
    LEADS,
];

const TOP_WAIT: Column =
    Column::words("top_wait", "what took most of DB time: the first of the top timed events", |run| {
        timed_events(run.record).into_iter().next().map(|event| event.name)
    });

const VERDICTS: [Column; 5] = [
    Column::verdict("physical", "the verdict 'Physical?'", Question::Physical),
    Column::verdict("accounted", "the verdict 'Accounted?'", Question::Accounted),
    Column::verdict("cpu_to_spare", "the verdict 'CPU to spare?'", Question::CpuToSpare),
    Column::verdict("steady", "the verdict 'Steady?'", Question::Steady),
    Column::verdict("complete", "the verdict 'Complete?'", Question::Complete),
];

fn second(moment: jiff::Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

pub fn status_word(status: &Status) -> &'static str {
    match status {
        Status::Completed => "completed",
        Status::Interrupted => "interrupted",
        Status::Aborted { .. } => "aborted",
        Status::Failed { .. } => "failed",
    }
}

impl Column {
    pub fn is_of_probe(&self) -> bool {
        matches!(self.get, Get::Figure(figure) if figure.is_of_probe())
    }

    const fn words(name: &'static str, source: &'static str, get: Words) -> Self {
        Self { name, unit: "", source, needs_series: false, get: Get::Words(get) }
    }

    const fn verdict(name: &'static str, source: &'static str, question: Question) -> Self {
        Self { name, unit: "", source, needs_series: true, get: Get::Verdict(question) }
    }

    pub const fn figure(figure: &'static Figure) -> Self {
        let Figure { name, unit, source, .. } = *figure;
        Self { name, unit, source, needs_series: false, get: Get::Figure(figure) }
    }

    /// Numbers have four digits in a table of many runs.
    pub fn cell(&self, figures: &Run<'_>) -> Cell {
        match self.get {
            Get::Words(get) => get(figures).into(),
            Get::Verdict(question) => figures.answer(question).word().into(),
            Get::Worst => {
                GroupVerdicts::of([(figures.record.id.as_str(), figures.judged())]).in_short().into()
            }
            Get::Figure(figure) => match figure.cell(figures) {
                Cell::Number(value, _) | Cell::Bound(value, _) => Format::Significant.cell(value),
                cell => cell,
            },
        }
    }

    /// Parentheses mark figures that a BAD verdict forbids.
    pub fn shown(&self, run: &Run<'_>) -> Cell {
        let Get::Figure(figure) = self.get else { return self.cell(run) };
        let shown = figure.show(run);
        match run.standing(figure, Claim::Storage) {
            Standing::Sound => shown.into(),
            Standing::Invalid(_) => format!("({shown})").into(),
        }
    }
}

pub fn all_columns() -> impl Iterator<Item = Column> {
    let figures = figure::ALL.iter().map(Column::figure);
    RUN.into_iter().chain(figures).chain([TOP_WAIT]).chain(VERDICTS).chain([VERDICTS_IN_SHORT])
}

pub fn column(name: &str) -> Option<Column> {
    let by_figure = || figure_named(name).ok().map(Column::figure);
    let by_question = || {
        let question = Question::named(name)?;
        VERDICTS.into_iter().find(|column| matches!(column.get, Get::Verdict(asked) if asked == question))
    };
    all_columns().find(|column| column.name == name).or_else(by_figure).or_else(by_question)
}

pub fn did_you_mean(name: &str) -> String {
    slob_facts::bound::did_you_mean(name, all_columns().map(|column| column.name))
}

pub fn cells(figures: &Run<'_>, columns: &[Column]) -> Vec<Cell> {
    columns.iter().map(|column| column.cell(figures)).collect()
}

pub fn table<'a>(
    heads: impl IntoIterator<Item = &'a str>,
    columns: &[Column],
    rows: impl IntoIterator<Item = Vec<Cell>>,
) -> Table {
    let columns = heads.into_iter().zip(columns).map(|(head, column)| match column.get {
        Get::Figure(_) => table::Column::right(head).named(column.name),
        _ => table::Column::left(head).named(column.name),
    });
    Table::new(columns).with_rows(rows)
}

pub const AWR_COLUMNS: [(Head, Column); 18] = [
    (Head::File, ID),
    (Head::Sessions, Column::figure(&figure::SESSIONS)),
    (Head::Elapsed, Column::figure(&figure::WINDOW_S)),
    (Head::DbCpu, Column::figure(&figure::DB_CPUS)),
    (Head::DbTime, Column::figure(&figure::AVERAGE_ACTIVE_SESSIONS)),
    (Head::Executes, Column::figure(&figure::OPERATIONS_PER_S)),
    (Head::LogicalReads, Column::figure(&figure::LOGICAL_READS_PER_S)),
    (Head::Reads, Column::figure(&figure::PHYSICAL_READS_PER_S)),
    (Head::ReadMib, Column::figure(&figure::PHYSICAL_READ_MIB_PER_S)),
    (Head::Writes, Column::figure(&figure::PHYSICAL_WRITES_PER_S)),
    (Head::WriteMib, Column::figure(&figure::PHYSICAL_WRITE_MIB_PER_S)),
    (Head::RedoMib, Column::figure(&figure::REDO_MIB_PER_S)),
    (Head::SingleBlockRead, Column::figure(&figure::SINGLE_READ_MEAN_US)),
    (Head::DirectRead, Column::figure(&figure::DIRECT_READ_MEAN_US)),
    (Head::ParallelRead, Column::figure(&figure::PARALLEL_READ_MEAN_US)),
    (Head::BlockWrite, Column::figure(&figure::BLOCK_WRITE_MEAN_US)),
    (Head::LogWrite, Column::figure(&figure::LOG_WRITE_MEAN_US)),
    (Head::TopWait, TOP_WAIT),
];

#[cfg(test)]
mod tests {
    use super::*;
    use slob_measure::WaitEvent;
    use slob_record::Record;
    use slob_testing::records;

    fn table_of(names: &[&str], records: &[Record]) -> Table {
        let columns: Vec<Column> = names.iter().map(|name| column(name).unwrap()).collect();
        table(names.iter().copied(), &columns, records.iter().map(|record| cells(&Run::of(record), &columns)))
    }

    #[test]
    fn the_columns_of_awr_info_in_its_order() {
        let records = [
            records::direct_read_run(),
            records::page_cache_run(),
            records::update_run(),
            records::failed_run(),
        ];
        let (heads, columns): (Vec<_>, Vec<_>) =
            AWR_COLUMNS.into_iter().map(|(head, column)| (head.text(), column)).unzip();
        let text =
            table(heads, &columns, records.iter().map(|record| cells(&Run::of(record), &columns))).pipes();
        assert!(text.starts_with(
            "FILE|SESSIONS|ELAPSED|DB CPU|DB Tm|EXECUTES|LIO|PREADS|READ_MBS|PWRITES|WRITE_MBS|REDO_MBS|DFSR_LAT|DPR_LAT|\
             DFPR_LAT|DFPW_LAT|LFPW_LAT|TOP WAIT|\n"
        ));
        assert!(text.lines().all(|line| line.matches('|').count() == 18 && line.ends_with('|')), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn latencies_of_named_events_come_first() {
        let mut record = records::update_run();
        let mean = |record: &Record, figure: &Figure| figure.of(&Run::of(record));
        let measured = mean(&record, &figure::PHYSICAL_READ_MEAN_US);
        assert_eq!(mean(&record, &figure::SINGLE_READ_MEAN_US), measured);
        assert_eq!(mean(&record, &figure::DIRECT_READ_MEAN_US), None);
        let event = |name: &str, waits, background| WaitEvent {
            name: name.into(),
            class: "I/O".into(),
            waits,
            time_us: 9_000,
            background,
        };
        record.events =
            vec![event("db file sequential read", Some(3), false), event("direct path read", None, false)];
        assert_eq!(mean(&record, &figure::SINGLE_READ_MEAN_US), Some(3_000.0));
        assert_eq!(mean(&record, &figure::DIRECT_READ_MEAN_US), None, "sampled events have no waits");
        assert!(mean(&record, &figure::LOG_WRITE_MEAN_US).is_some());
        // The server's own processes write the log; waits of sessions come first.
        record.events.push(event("log file parallel write", Some(9), true));
        assert_eq!(mean(&record, &figure::LOG_WRITE_MEAN_US), Some(1_000.0));
        record.events.insert(0, event("db file sequential read", Some(9), true));
        assert_eq!(mean(&record, &figure::SINGLE_READ_MEAN_US), Some(3_000.0));
    }

    #[test]
    fn unknown_is_empty_and_null_and_zero_is_zero() {
        let names = ["name", "sessions", "physical_reads_per_s", "update_pct"];
        let table = table_of(&names, &[records::failed_run()]);
        assert_eq!(table.csv(), "name,sessions,physical_reads_per_s,update_pct\ndirect,4,,0\n");
        let json: serde_json::Value = serde_json::from_str(&table.json()).unwrap();
        assert_eq!(json[0]["physical_reads_per_s"], serde_json::Value::Null);
        assert_eq!((&json[0]["update_pct"], &json[0]["sessions"]), (&0.into(), &4.into()));
    }

    #[test]
    fn cells_can_not_break_their_form() {
        let mut record = records::failed_run();
        record.name = "a,b\"c|d\ne".into();
        let table = table_of(&["name"], &[record]);
        assert_eq!(table.csv(), "name\n\"a,b\"\"c|d\ne\"\n");
        assert_eq!(table.pipes(), "name|\na,b\"c/d/e|\n");
    }

    #[test]
    fn names_are_unique_and_every_column_has_a_source() {
        let mut names: Vec<&str> = all_columns().map(|column| column.name).collect();
        assert!(names.len() > 80 && all_columns().all(|column| !column.source.is_empty()));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all_columns().count());
        assert!(did_you_mean("physical_read_per_s").starts_with(" (did you mean physical_reads_per_s"));
    }

    #[test]
    fn only_columns_that_say_so_need_the_series() {
        for whole in [records::direct_read_run(), records::page_cache_run(), records::update_run()] {
            let without = Record { series: slob_stats::Series::new(0, 2), ..whole.clone() };
            let (whole, without) = (Run::of(&whole), Run::of(&without));
            for column in all_columns().filter(|column| !column.needs_series) {
                assert_eq!(column.cell(&whole), column.cell(&without), "{}", column.name);
            }
            assert_ne!(column("steady").unwrap().cell(&whole), column("steady").unwrap().cell(&without));
        }
    }
}
