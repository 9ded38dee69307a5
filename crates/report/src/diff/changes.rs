//! What was different about the test.

use std::collections::BTreeSet;

use serde::Serialize;
use slob_record::Record;

/// A setting that is not the same on both sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// What kind of setting: `parameter`, `server` or `platform`.
    pub of: &'static str,
    /// Its name.
    pub name: String,
    /// Its value on the first side; absent if none of its runs has it. Runs that differ give several, with ` / ` between.
    pub first: Option<String>,
    /// The same on the second side.
    pub second: Option<String>,
}

/// Parameters that name a run or say where things are kept: they differ without making a difference.
const NAMES: [&str; 2] = ["RUN_NAME", "RESULTS_DIR"];

/// How SELECTs were executed that followed each other.
const SELECTS: &str = "consecutive SELECTs";

/// A warning if the two sides did not execute the same statements for the same operations.
pub(super) fn other_statements(changes: &[Change]) -> Option<String> {
    let change = changes.iter().find(|change| change.name == SELECTS)?;
    let (first, second) = (change.first.as_ref()?, change.second.as_ref()?);
    Some(format!(
        "The two sides executed their SELECTs differently ({first}; {second}), so CPU and rates of cached reads \
         can't be compared: repeat one side with the other's LOOP, or both with LOOP=statement."
    ))
}

/// How settings of a kind are read from a record.
type Settings = fn(&Record) -> Vec<(String, String)>;

const KINDS: [(&str, Settings); 3] = [("parameter", parameters), ("server", server), ("platform", platform)];

/// Settings that differ, parameters first; in each kind by name.
pub(super) fn find(first: &[Record], second: &[Record]) -> Vec<Change> {
    KINDS.iter().flat_map(|(of, settings)| of_kind(of, *settings, first, second)).collect()
}

fn of_kind(of: &'static str, settings: Settings, first: &[Record], second: &[Record]) -> Vec<Change> {
    let (a, b) = (read(settings, first), read(settings, second));
    let names: BTreeSet<&String> = a.iter().chain(&b).flatten().map(|(name, _)| name).collect();
    let change = |name: &String| {
        let (first, second) = (values(&a, name), values(&b, name));
        (first != second).then(|| Change { of, name: name.clone(), first, second })
    };
    names.into_iter().filter_map(change).collect()
}

fn read(settings: Settings, records: &[Record]) -> Vec<Vec<(String, String)>> {
    records.iter().map(settings).collect()
}

/// The values that a setting has in some runs, each once.
fn values(runs: &[Vec<(String, String)>], name: &str) -> Option<String> {
    let of_run =
        |run: &Vec<(String, String)>| run.iter().find(|(of, _)| of == name).map(|(_, value)| value.clone());
    let distinct: BTreeSet<String> = runs.iter().filter_map(of_run).collect();
    (!distinct.is_empty()).then(|| distinct.into_iter().collect::<Vec<_>>().join(" / "))
}

fn parameters(record: &Record) -> Vec<(String, String)> {
    let entries = record.configuration.iter().filter(|entry| !NAMES.contains(&entry.key.as_str()));
    entries.map(|entry| (entry.key.clone(), entry.value.clone())).collect()
}

fn server(record: &Record) -> Vec<(String, String)> {
    let server = &record.server;
    let mut settings: Vec<(String, String)> =
        server.settings.iter().map(|setting| (setting.name.clone(), setting.value.clone())).collect();
    settings.extend([
        ("product".into(), server.product.clone()),
        ("version".into(), server.version.clone()),
        ("block bytes".into(), server.block_bytes.to_string()),
    ]);
    let joined = if server.joined_selects { "one statement" } else { "one statement each" };
    settings.push((SELECTS.into(), joined.into()));
    settings.extend(server.direct_io.map(|direct| ("direct I/O".into(), yes_no(direct))));
    settings
}

fn platform(record: &Record) -> Vec<(String, String)> {
    let mut facts = vec![("slob version".to_owned(), record.slob_version.clone())];
    let Some(host) = &record.host else { return facts };
    let info = &host.info;
    facts.extend([
        ("host".into(), info.hostname.clone()),
        ("kernel".into(), info.kernel.clone()),
        ("architecture".into(), info.architecture.clone()),
    ]);
    facts.extend(info.os.clone().map(|os| ("operating system".into(), os)));
    facts.extend(info.cpu_model.clone().map(|model| ("CPU model".into(), model)));
    facts.extend(info.cpus_online.map(|cpus| ("CPUs".into(), cpus.to_string())));
    facts.extend(info.memory_bytes.map(|bytes| ("memory".into(), crate::format::size(bytes))));
    facts.extend(info.virtualisation.clone().map(|kind| ("virtualisation".into(), kind)));
    if let Some(device) = host.device.as_ref().map(|device| &device.device) {
        facts.extend([
            ("file system".into(), device.file_system.clone()),
            ("mount options".into(), device.mount_options.join(",")),
            ("device stack".into(), device.stack.join(" > ")),
        ]);
        let disks = device.disks.iter();
        facts.extend(
            disks
                .clone()
                .filter_map(|disk| Some((format!("scheduler of {}", disk.id.name), disk.scheduler.clone()?))),
        );
        facts.extend(
            disks.filter_map(|disk| Some((format!("model of {}", disk.id.name), disk.model.clone()?))),
        );
    }
    facts
}

fn yes_no(value: bool) -> String {
    if value { "yes" } else { "no" }.into()
}
