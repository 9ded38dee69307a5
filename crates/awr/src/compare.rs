//! Compare-period reports: each period as a report of its own.

mod io;

use crate::extract::{empty, moment, sections};
use crate::figure::{Figure, TimeUnit, duration_us, number};
use crate::kind::{Format, Kind};
use crate::report::{
    Activity, CacheSize, HostCpu, LoadLine, OsStatistic, Parameter, Period, Report, ShareOf, Snapshot,
    TimeModelLine, WaitEvent,
};
use crate::table::{Document, Row, Table};

/// Both periods.
pub(crate) fn reports(document: &Document, kind: Kind, format: Format) -> Vec<Report> {
    let mut reports: Vec<Report> = [Period::First, Period::Second]
        .into_iter()
        .map(|period| {
            let mut report = empty(kind, format);
            report.period = Some(period);
            report.sections = sections(document);
            for table in &document.tables {
                Side { period, table }.fill(&mut report);
            }
            if let Some((name, _)) = &document.db_inst {
                report.database.name.get_or_insert_with(|| name.clone());
            }
            report
        })
        .collect();
    inherit(&mut reports);
    for (report, [elapsed, db_time]) in reports.iter_mut().zip(&document.periods) {
        report.interval.elapsed_s = Some(*elapsed);
        report.interval.db_time_s = Some(*db_time);
    }
    reports.iter_mut().for_each(count_waits);
    reports
}

/// Waits are printed by the second; their number is that by the interval, unless the top events say it.
fn count_waits(report: &mut Report) {
    let elapsed = report.interval.elapsed_s;
    let lists = [&mut report.all_events, &mut report.background_events];
    let classes = [&mut report.wait_classes, &mut report.all_wait_classes];
    for event in lists.into_iter().chain(classes).flatten() {
        event.waits = event.waits_per_s.zip(elapsed).map(|(rate, elapsed)| Figure {
            value: (rate.value * elapsed.value).round(),
            resolution: rate.resolution * elapsed.value + rate.value * elapsed.resolution,
        });
        let top = report.top_events.iter().find(|top| top.name == event.name);
        event.waits = Figure::finer(event.waits, top.and_then(|top| top.waits));
    }
}

/// Values of the second period are shown only where they differ from those of the first.
fn inherit(reports: &mut [Report]) {
    let [first, second] = reports else { return };
    for (own, other) in second.parameters.iter_mut().zip(&first.parameters) {
        if own.begin.is_empty() {
            own.begin.clone_from(&other.begin);
        }
    }
}

/// A table as one of the periods sees it.
struct Side<'a> {
    period: Period,
    table: &'a Table,
}

impl Side<'_> {
    fn word(&self) -> &'static str {
        match self.period {
            Period::First => "1st",
            Period::Second => "2nd",
        }
    }

    /// The period's column below a shared heading, or one whose own heading goes on after the period's name.
    fn column(&self, shared: &str, rest: &str) -> Option<usize> {
        let word = self.word();
        self.table.heads.iter().position(|head| {
            let own = head.name.strip_prefix(word);
            own.is_some_and(|own| own.starts_with(rest)) && head.group.contains(shared)
        })
    }

    fn cell(&self, row: &Row, shared: &str) -> Option<Figure> {
        row.text(self.column(shared, "")).and_then(number)
    }

    /// The row of this period, where periods are rows.
    fn own_row(&self) -> Option<&Row> {
        self.table.rows.iter().find(|row| row.name().contains(self.word()))
    }

    fn fill(&self, report: &mut Report) {
        let title = self.table.title.to_lowercase();
        let is = |start: &str| title.starts_with(start);
        if self.table.has("snapshotset") {
            self.header(report);
        } else if is("host configuration") {
            self.host(report);
        } else if is("cache sizes") {
            self.caches(report);
        } else if is("workload comparison") || is("load profile") {
            self.load(report);
        } else if is("top timed") || is("top 5 ") || is("top 10 ") {
            self.top_events(report);
        } else if is("time model") {
            self.time_model(report);
        } else if is("operating system") {
            self.os_statistics(report);
        } else if is("foreground wait class") {
            report.wait_classes.extend(self.events());
        } else if is("wait classes") {
            report.all_wait_classes.extend(self.events());
        } else if is("wait events") || is("foreground wait events") {
            report.all_events.extend(self.events());
        } else if is("background wait events") {
            report.background_events.extend(self.events());
        } else if title.contains("instance activity") {
            self.activity(report);
        } else if is("iostat by function") {
            self.io(&mut report.io_by_function, &title);
        } else if is("iostat by file") {
            self.io(&mut report.io_by_file_type, &title);
        } else if is("init.ora") || is("initialization") {
            self.parameters(report);
        }
    }

    fn header(&self, report: &mut Report) {
        let Some(row) = self.own_row() else { return };
        let text = |name: &str| row.text(self.table.column(|head| head.starts_with(name)));
        let some = |name: &str, old: &mut Option<String>| {
            if let Some(text) = text(name) {
                *old = Some(text.to_owned());
            }
        };
        let database = &mut report.database;
        some("dbname", &mut database.name);
        some("dbid", &mut database.id);
        some("uniquename", &mut database.unique_name);
        some("role", &mut database.role);
        some("dbrole", &mut database.role);
        some("edition", &mut database.edition);
        some("release", &mut database.release);
        some("instance", &mut database.instance);
        some("host", &mut report.host.name);
        let yes = |word: &str| word.eq_ignore_ascii_case("yes");
        database.is_rac = text("cluster").or(text("rac")).map(yes).or(database.is_rac);
        database.is_cdb = text("cdb").map(yes).or(database.is_cdb);
        database.instance_number =
            text("instnum").and_then(|number| number.parse().ok()).or(database.instance_number);
        database.block_bytes =
            text("stdblocksize").and_then(number).map(|size| size.value).or(database.block_bytes);
        if text("beginsnapid").is_some() {
            let snapshot = |id: &str, time: &str| Snapshot {
                id: text(id).and_then(|id| id.parse().ok()),
                time: text(time).and_then(moment),
                sessions: None,
                cursors_per_session: None,
            };
            let begin = snapshot("beginsnapid", "beginsnaptime");
            let end = snapshot("endsnapid", "endsnaptime");
            let seconds =
                begin.time.zip(end.time).map(|(begin, end)| end.duration_since(begin).as_secs_f64());
            let by_clock =
                seconds.filter(|seconds| *seconds > 0.0).map(|value| Figure { value, resolution: 1.0 });
            let minutes = |name: &str| text(name).and_then(number).map(|figure| figure.times(60.0));
            report.interval.elapsed_s = Figure::finer(minutes("elapsedtime"), by_clock);
            report.interval.db_time_s = minutes("dbtime");
            (report.interval.begin, report.interval.end) = (Some(begin), Some(end));
        }
    }

    fn host(&self, report: &mut Report) {
        let mut cpu = HostCpu::default();
        for row in &self.table.rows {
            let figure = row.text(self.column("", "")).and_then(number);
            let value = figure.map(|figure| figure.value);
            match row.name().trim_end_matches(':') {
                "Number of CPUs" => report.host.cpus = value,
                "Number of CPU Cores" => report.host.cores = value,
                "Number of CPU Sockets" => report.host.sockets = value,
                "Physical Memory" => {
                    let bytes = row.text(self.column("", "")).and_then(crate::figure::bytes);
                    report.host.memory_gb = bytes.map(|bytes| bytes.value / 1024f64.powi(3));
                }
                "Load at Start Snapshot" => cpu.load_begin = figure,
                "Load at End Snapshot" => cpu.load_end = figure,
                "%User Time" => cpu.user_percent = figure,
                "%System Time" => cpu.system_percent = figure,
                "%Idle Time" => cpu.idle_percent = figure,
                "%IO Wait Time" => cpu.wait_percent = figure,
                _ => {}
            }
        }
        report.host_cpu = (cpu != HostCpu::default()).then_some(cpu);
    }

    fn caches(&self, report: &mut Report) {
        let column = self.column("", "");
        for row in &self.table.rows {
            let size = row.text(column).and_then(number).map(|figure| figure.times(1024.0 * 1024.0));
            if size.is_some() {
                let name = row.name().trim_start_matches('.').to_owned();
                report.cache_sizes.push(CacheSize { name, begin_bytes: size, end_bytes: None });
            }
        }
    }

    fn load(&self, report: &mut Report) {
        let (second, transaction) =
            (self.column("", "persec"), self.column("", "pertxn").or(self.column("", "pertran")));
        for row in &self.table.rows {
            let Some(name) = row.name().strip_suffix(':') else { continue };
            let cell = |column| row.text(column).and_then(number);
            if second.is_some() {
                report.load_profile.push(LoadLine {
                    name: name.trim().to_owned(),
                    per_second: cell(second),
                    per_transaction: cell(transaction),
                    per_exec: None,
                    per_call: None,
                });
            }
        }
    }

    /// Two tables side by side, with the same headings.
    fn top_events(&self, report: &mut Report) {
        let blocks: Vec<usize> =
            (0..self.table.heads.len()).filter(|at| self.table.heads[*at].name.ends_with("event")).collect();
        let Some(start) = blocks.get(self.period as usize).copied() else { return };
        let end = blocks.get(self.period as usize + 1).copied().unwrap_or(self.table.heads.len());
        let block = Table {
            title: self.table.title.clone(),
            heads: self.table.heads[start..end].to_vec(),
            rows: self
                .table
                .rows
                .iter()
                .map(|row| Row {
                    line: row.line,
                    cells: row.cells.iter().skip(start).take(end - start).cloned().collect(),
                })
                .collect(),
        };
        let at = |fits: &dyn Fn(&str) -> bool| block.column(fits);
        let waits = at(&|head| head == "waits");
        let total = at(&|head| head.starts_with("time("));
        let average = at(&|head| head.starts_with("avg"));
        let unit = average.map(|at| block.heads[at].name.contains("(ms)"));
        for row in &block.rows {
            let cell = |column| row.text(column).and_then(number);
            let event = WaitEvent {
                name: row.name().trim_start_matches("- ").trim().to_owned(),
                class: row.text(at(&|head| head.contains("class"))).map(str::to_owned),
                waits: cell(waits),
                total_s: cell(total),
                average_us: row
                    .text(average)
                    .and_then(|text| duration_us(text, unit.filter(|ms| *ms).map(|_| TimeUnit::Ms))),
                percent: cell(at(&|head| head.contains('%'))),
                percent_of: Some(ShareOf::DbTime),
                timeouts_percent: None,
                waits_per_s: None,
            };
            // A dash marks what is not among this period's top events, but shown for comparison.
            if !event.name.is_empty() && event.total_s.is_some() && !row.name().starts_with('-') {
                report.top_events.push(event);
            }
        }
    }

    fn time_model(&self, report: &mut Report) {
        for row in &self.table.rows {
            let seconds = self.cell(row, "time(s");
            if seconds.is_some() {
                let percent_of_db_time = self.cell(row, "%ofdbtime");
                report.time_model.push(TimeModelLine {
                    name: row.name().to_owned(),
                    seconds,
                    percent_of_db_time,
                });
            }
        }
        let db_time =
            report.time_model.iter().find(|line| line.name == "DB time").and_then(|line| line.seconds);
        report.interval.db_time_s = Figure::finer(report.interval.db_time_s, db_time);
    }

    fn os_statistics(&self, report: &mut Report) {
        for row in &self.table.rows {
            if let Some(value) = self.cell(row, "value") {
                report.os_statistics.push(OsStatistic {
                    name: row.name().to_owned(),
                    value: Some(value),
                    end: None,
                });
            }
        }
    }

    fn events(&self) -> Vec<WaitEvent> {
        let class = self.table.column(|head| head == "waitclass").filter(|at| *at > 0);
        let total = self.column("totalwait", "").or_else(|| self.column("waittime(s", ""));
        let average = self.column("avgwait", "").or_else(|| self.column("avgtime", ""));
        let rate = self.column("waits/sec", "");
        let seconds = self.column("%ofdbtime", "").or_else(|| self.column("%dbtime", ""));
        let unit = average.and_then(|at| {
            let head = &self.table.heads[at];
            head.group.contains("(ms)").then_some(TimeUnit::Ms)
        });
        let event = |row: &Row| {
            let cell = |column| row.text(column).and_then(number);
            let total_s = cell(total);
            let average_us = row.text(average).and_then(|text| duration_us(text, unit));
            WaitEvent {
                name: row.name().to_owned(),
                class: row.text(class).map(str::to_owned),
                waits: None,
                waits_per_s: cell(rate),
                timeouts_percent: None,
                total_s,
                average_us,
                percent: cell(seconds),
                percent_of: seconds.map(|_| ShareOf::DbTime),
            }
        };
        self.table
            .rows
            .iter()
            .map(event)
            .filter(|event| event.total_s.is_some() && !event.name.is_empty())
            .collect()
    }

    fn activity(&self, report: &mut Report) {
        for row in &self.table.rows {
            let total = self.cell(row, "value");
            let per_second = self.cell(row, "persecond(elapsed");
            if total.is_some() || per_second.is_some() {
                let per_transaction = self.cell(row, "pertrans");
                report.activity.push(Activity {
                    name: row.name().to_owned(),
                    total,
                    per_second,
                    per_transaction,
                });
            }
        }
    }

    fn parameters(&self, report: &mut Report) {
        let at = |word: &str| {
            self.table
                .heads
                .iter()
                .position(|head| head.group.starts_with(self.word()) && head.name.starts_with(word))
        };
        let (begin, end) = (at("begin"), at("end"));
        for row in self.table.rows.iter().filter(|row| !row.name().is_empty()) {
            let (begin, end) = (row.text(begin), row.text(end));
            // The value at the begin is shown only if it differs from that at the end.
            let value = begin.or(end).unwrap_or_default().to_owned();
            let end = begin.and(end).map(str::to_owned);
            report.parameters.push(Parameter { name: row.name().to_owned(), begin: value, end });
        }
    }
}
