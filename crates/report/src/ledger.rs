//! The ledger: platforms in one table, per core, per licence and per price. Ranks compare rows of one basis and one currency;
//! figures that rest on a BAD verdict are left out.

use std::cmp::Ordering;
use std::fmt::Display;

use itertools::Itertools;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use slob_awr::Rates;
use slob_awr::info::{Head, Named, Row};
use slob_spec::Amount;
use toml::Spanned;

use crate::group::{Group, JudgedRun, without_repeat};
use slob_facts::format::{Format, plural, significant};
use slob_facts::measured::ratio;
use slob_facts::table::Cell;
use slob_facts::{Claim, Figure, GroupVerdicts, figure};
use slob_page::Answer;
use slob_page::layout::{Section, View, lead};
use slob_page::{Column, ColumnOf, Page, Table};
use slob_stats::summary::mean;

/// The strongest basis comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
enum Basis {
    Measured,
    Reported,
    #[default]
    Claimed,
}

#[derive(Clone, Debug, Default)]
pub struct Platform {
    name: String,
    basis: Basis,
    /// Target, sessions and updates.
    test: [String; 3],
    source: String,
    io_per_s: Option<f64>,
    writes_percent: Option<f64>,
    read_us: Option<f64>,
    cores: Option<f64>,
    stated_per_core: Option<f64>,
    db_cores: Option<f64>,
    licensed_cores: Option<f64>,
    cost_per_hour: Option<Amount>,
    verdicts: GroupVerdicts,
    left_out: Option<String>,
}

impl Platform {
    pub fn of_runs(runs: Vec<JudgedRun>) -> Vec<Self> {
        let key = |JudgedRun { record, .. }: &JudgedRun| {
            let (name, workload) = (without_repeat(&record.name).to_owned(), &record.workload);
            (name, record.target.clone(), workload.sessions(), workload.update_pct.to_string())
        };
        let keys = runs.iter().map(key).unique().collect_vec();
        let mut groups = runs.into_iter().into_group_map_by(key);
        keys.iter().filter_map(|key| groups.remove(key)).map(|group| Self::of_repeats(&group)).collect()
    }

    fn of_repeats(repeats: &[JudgedRun]) -> Self {
        let (first, last) = (&repeats[0].record, &repeats[repeats.len() - 1].record);
        let name = if repeats.len() > 1 { without_repeat(&first.name) } else { &first.name };
        let (name, server) = (name.to_owned(), &first.server);
        let group = Group::of_judged(&name, repeats);
        let forbids = |figure: &Figure| group.verdicts.against(figure.rests_on, Claim::Storage);
        let any = |figure: &Figure| mean(&group.values(figure));
        let sound = |figure: &Figure| any(figure).filter(|_| forbids(figure).is_none());
        let io = &figure::PHYSICAL_IO_PER_S;
        let io_per_s = sound(io);
        let refused = forbids(io).map(|worst| worst.words(&name));
        let uncounted = || format!("{name}: the database does not count its physical reads and writes.");
        let runs = match repeats.len() {
            1 => format!("run {}", first.id),
            n => format!("mean of {n} runs, {} to {}", first.id, last.id),
        };
        Self {
            basis: Basis::Measured,
            test: [
                first.target.clone(),
                plural(first.workload.sessions().into(), "session"),
                format!("{} % updates", first.workload.update_pct),
            ],
            source: format!("{runs}: {} {}", server.product, server.version),
            io_per_s,
            writes_percent: io_per_s.and_then(|io| ratio(100.0 * sound(&figure::PHYSICAL_WRITES_PER_S)?, io)),
            read_us: sound(&figure::SINGLE_READ_MEAN_US),
            cores: any(&figure::HOST_CORES),
            db_cores: sound(&figure::DB_CPUS),
            licensed_cores: figure::licensed_cores(first).map(|cores| cores.number()),
            cost_per_hour: figure::cost_per_hour(first),
            left_out: refused.or_else(|| io_per_s.is_none().then(uncounted)),
            verdicts: group.verdicts,
            name,
            ..Self::default()
        }
    }

    pub fn of_report(named: &Named) -> Self {
        let (report, rates, file) = (&named.report, Rates::of(&named.report), named.label());
        let written = report.statistic_per_s("physical write IO requests").and_then(|writes| writes.known());
        let requests = rates.physical_read_requests.zip(written);
        let io = requests.or_else(|| rates.physical_reads.zip(rates.physical_writes));
        let io_per_s = io.map(|(reads, writes)| reads + writes);
        let unit = if io.is_some() && requests.is_none() { "; IOPS are blocks" } else { "" };
        let name = report.host.name.clone().or_else(|| report.database.name.clone());
        let name = name.unwrap_or_else(|| file.clone());
        let unknown = || format!("{name}: {file} holds no physical reads and writes.");
        Self {
            basis: Basis::Reported,
            source: format!("{file}{unit}"),
            io_per_s,
            writes_percent: io.and_then(|(reads, writes)| ratio(100.0 * writes, reads + writes)),
            read_us: rates.single_block_read_us,
            cores: report.host.cores,
            db_cores: Row::of(named).figure(Head::DbCpu),
            left_out: io_per_s.is_none().then(unknown),
            name,
            ..Self::default()
        }
    }

    /// Rows of one name get what tells them apart.
    fn name_among(&self, all: &[Self]) -> String {
        let twins =
            all.iter().filter(|other| (&other.name, other.basis) == (&self.name, self.basis)).collect_vec();
        let differs = |at: &usize| !twins.iter().map(|twin| &twin.test[*at]).all_equal();
        let mut apart = (0..self.test.len()).filter(differs).map(|at| self.test[at].as_str()).collect_vec();
        if twins.iter().filter(|twin| twin.test == self.test).count() > 1 {
            apart.push(&self.source);
        }
        if apart.is_empty() { self.name.clone() } else { format!("{} ({})", self.name, apart.join(", ")) }
    }

    fn per(&self, divisor: Option<f64>) -> Option<f64> {
        ratio(self.io_per_s?, divisor?)
    }

    fn per_core(&self) -> Option<f64> {
        self.stated_per_core.or_else(|| self.per(self.cores))
    }

    fn cost_per_million_iops_hours(&self) -> Option<f64> {
        figure::cost_per_million_iops_hours(self.cost_per_hour.as_ref()?, self.io_per_s?)
    }

    fn is_peer(&self, other: &Self) -> bool {
        let [own, others] = [self, other].map(|one| one.cost_per_hour.as_ref().map(Amount::unit));
        self.basis == other.basis && own == others
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct SheetError {
    file: String,
    line: usize,
    message: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sheet {
    platform: Vec<Spanned<Typed>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Typed {
    name: Option<String>,
    source: Option<String>,
    from: Option<String>,
    #[serde(default, deserialize_with = "positive")]
    iops: Option<f64>,
    #[serde(default, deserialize_with = "percent")]
    writes_percent: Option<f64>,
    #[serde(default, deserialize_with = "positive")]
    read_mean_us: Option<f64>,
    #[serde(default, deserialize_with = "positive")]
    cores: Option<f64>,
    #[serde(default, deserialize_with = "positive")]
    iops_per_core: Option<f64>,
    #[serde(default, deserialize_with = "positive")]
    licensed_cores: Option<f64>,
    cost_per_hour: Option<Amount>,
}

fn positive<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    let number = Some(f64::deserialize(from)?).filter(|number| number.is_finite() && *number > 0.0);
    number.map(Some).ok_or(D::Error::custom("it must be a number above 0"))
}

fn percent<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    let share = Some(f64::deserialize(from)?).filter(|share| (0.0..=100.0).contains(share));
    share.map(Some).ok_or(D::Error::custom("it must be a number from 0 to 100"))
}

#[derive(Clone, Debug)]
pub enum Entry {
    Claim(Platform),
    /// Path, id or name of a run or a report.
    Beside(String, Typed),
}

/// TOML with a `[[platform]]` for each row. `file` is its name in messages and sources.
pub fn read_sheet(file: &str, text: &str) -> Result<Vec<Entry>, SheetError> {
    let at = |place: usize, message: &dyn Display| SheetError {
        file: file.to_owned(),
        line: text.bytes().take(place).filter(|byte| *byte == b'\n').count() + 1,
        message: message.to_string(),
    };
    let sheet: Sheet = toml::from_str(text)
        .map_err(|error| at(error.span().map_or(0, |span| span.start), &error.message()))?;
    let entry = |typed: Spanned<Typed>| {
        let place = typed.span().start;
        typed.into_inner().entry(file).map_err(|message| at(place, &message))
    };
    sheet.platform.into_iter().map(entry).collect()
}

impl Typed {
    fn entry(self, file: &str) -> Result<Entry, String> {
        let Some(from) = self.from.clone() else { return self.claim(file).map(Entry::Claim) };
        let figures = [self.iops, self.writes_percent, self.read_mean_us, self.cores, self.iops_per_core];
        if self.source.is_some() || figures.iter().any(Option::is_some) {
            return Err("with `from` there is only name, cost_per_hour and licensed_cores".into());
        }
        Ok(Entry::Beside(from, self))
    }

    pub fn beside(&self, platform: Platform) -> Platform {
        Platform {
            name: self.name.clone().unwrap_or(platform.name),
            licensed_cores: self.licensed_cores.or(platform.licensed_cores),
            cost_per_hour: self.cost_per_hour.clone().or(platform.cost_per_hour),
            ..platform
        }
    }

    fn claim(self, file: &str) -> Result<Platform, String> {
        const ROUNDING: f64 = 0.01;
        let told = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let (Some(name), Some(source), Some(iops)) = (told(self.name), told(self.source), self.iops) else {
            return Err("a platform needs `name`, `iops` and `source` (who claims it, and where), or `from`: a run or a \
                        report"
                .into());
        };
        if let Some((cores, stated)) = self.cores.zip(self.iops_per_core)
            && (iops / cores / stated - 1.0).abs() > ROUNDING
        {
            let by_cores = significant(iops / cores);
            return Err(format!("{iops} iops of {cores} cores are {by_cores} per core, not {stated}"));
        }
        Ok(Platform {
            name,
            source: format!("{source} ({file})"),
            io_per_s: Some(iops),
            writes_percent: self.writes_percent,
            read_us: self.read_mean_us,
            cores: self.cores,
            stated_per_core: self.iops_per_core,
            licensed_cores: self.licensed_cores,
            cost_per_hour: self.cost_per_hour,
            ..Platform::default()
        })
    }
}

type Write = fn(&Ledger, &mut Page);

const NAMES: usize = 2;

const PARTS: [(&str, Write); 3] = [
    ("Per core", Ledger::write_io),
    ("Per licence and price", Ledger::write_prices),
    ("Sources", |ledger, page| page.table(&ledger.table().part(NAMES, "source"..="source"))),
];

/// Rows are sorted by basis, then by IOPS per core.
#[derive(Clone, Debug)]
pub struct Ledger {
    platforms: Vec<Platform>,
}

impl Ledger {
    pub fn new(mut platforms: Vec<Platform>) -> Self {
        let by_core = |one: &Platform, other: &Platform| match (one.per_core(), other.per_core()) {
            (Some(one), Some(other)) => other.total_cmp(&one),
            (one, other) => other.is_some().cmp(&one.is_some()),
        };
        platforms.sort_by(|one, other| one.basis.cmp(&other.basis).then(by_core(one, other)));
        let names = platforms.iter().map(|one| one.name_among(&platforms)).collect_vec();
        platforms.iter_mut().zip(names).for_each(|(one, name)| one.name = name);
        Self { platforms }
    }

    fn rank(&self, platform: &Platform) -> Option<u64> {
        let price = platform.cost_per_million_iops_hours()?;
        let peers = self.platforms.iter().filter(|other| other.is_peer(platform));
        let prices: Vec<f64> = peers.filter_map(Platform::cost_per_million_iops_hours).collect();
        let cheaper = prices.iter().filter(|other| other.total_cmp(&price) == Ordering::Less).count();
        (prices.len() > 1).then_some(cheaper as u64 + 1)
    }

    fn write_io(&self, page: &mut Page) {
        page.table(&self.table().part(NAMES, "iops"..="verdicts"));
        page.paragraph(
            "Measured by a run, reported by the database's own tool, or claimed by the source alone. IOPS are physical \
             reads and writes: mind their share of writes and the mean read.",
        );
        let left_out = self.platforms.iter().filter_map(|platform| platform.left_out.as_ref());
        page.list(left_out.map(|why| format!("Left out: {why}")));
    }

    fn write_prices(&self, page: &mut Page) {
        let prices = self.table().part(NAMES, "cores"..="price_rank");
        if prices.columns.len() == NAMES {
            return;
        }
        page.table(&prices);
        if self.platforms.iter().any(|platform| self.rank(platform).is_some()) {
            page.paragraph(
                "Rank: by the cost of a million IOPS-hours, the lowest first, among rows of the same basis and \
                 currency. A million IOPS-hours are 1,000,000 IOPS for an hour.",
            );
        }
    }
}

impl Serialize for Ledger {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.table().to_json().serialize(serializer)
    }
}

impl Answer for Ledger {
    const NAME: &'static str = "compare";

    fn write(&self, page: &mut Page) {
        for (title, write) in PARTS {
            let mut part = Page::default();
            write(self, &mut part);
            if !part.blocks.is_empty() {
                page.section(title);
                page.blocks.append(&mut part.blocks);
            }
        }
    }

    fn view(&self) -> View {
        let parts = PARTS.into_iter().fold(Section::new("platforms", ""), |section, (title, write)| {
            section.part(title, |page| write(self, page))
        });
        View {
            title: "OpenSLOB ledger".into(),
            heading: "Platforms".into(),
            lead: lead(&plural(self.platforms.len() as u64, "platform")),
            sections: vec![parts],
            source: "From saved records, reports, and what was typed in, as each row says.".into(),
        }
    }

    fn table(&self) -> Table {
        let rate = |number: Option<f64>| Format::Significant.cell(number);
        let cores = |number: Option<f64>| match number.filter(|number| number.fract() == 0.0) {
            Some(whole) => Cell::Count(whole as u64),
            None => rate(number),
        };
        let left = |head, name| Column::left(head).named(name);
        let right = |head, name| Column::right(head).named(name);
        let columns: [ColumnOf<'_, Platform>; 15] = [
            (left("Platform", "platform").at_most(18), &|one| one.name.as_str().into()),
            (left("Basis", "basis"), &|one| <&str>::from(one.basis).into()),
            (right("IOPS", "iops"), &|one| rate(one.io_per_s)),
            (right("Writes %", "writes_percent"), &|one| Format::Percent.cell(one.writes_percent)),
            (right("Read us", "read_mean_us"), &|one| Format::Micros.cell(one.read_us)),
            (right("IOPS/core", "iops_per_core"), &|one| rate(one.per_core())),
            (right("IOPS/DB core", "iops_per_db_core"), &|one| rate(one.per(one.db_cores))),
            (left("Verdicts", "verdicts").at_most(13), &|one| one.verdicts.in_short().into()),
            (right("Cores", "cores"), &|one| cores(one.cores)),
            (right("Licensed", "licensed_cores"), &|one| cores(one.licensed_cores)),
            (right("IOPS/licensed", "iops_per_licensed_core"), &|one| rate(one.per(one.licensed_cores))),
            (right("Cost/hour", "cost_per_hour"), &|one| {
                one.cost_per_hour.as_ref().map(ToString::to_string).into()
            }),
            (right("Cost/M IOPS-h", "cost_per_million_iops_hours"), &|one| {
                rate(one.cost_per_million_iops_hours())
            }),
            (right("Rank", "price_rank"), &|one| self.rank(one).into()),
            (left("Source", "source"), &|one| one.source.as_str().into()),
        ];
        Table::of(&self.platforms, columns)
    }

    fn are_good(&self) -> bool {
        let mut measured = self.platforms.iter().filter(|platform| platform.basis == Basis::Measured);
        measured.all(|platform| platform.verdicts.are_good())
    }

    /// A table alone: prices and figures belong together there.
    fn markdown(&self) -> String {
        self.table().markdown()
    }
}

#[cfg(test)]
mod tests;
