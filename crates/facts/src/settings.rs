//! Settings that differ between groups: parameters, the server's, the platform's.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use itertools::Itertools;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use slob_host::GroupLimits;
use slob_record::{ObservedRecord, Record};

use crate::format::size;

/// JSON names the values of two groups `first` and `second`, and has a list `groups` of more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerGroup<T>(pub Vec<T>);

impl<T> Deref for PerGroup<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Serialize> Serialize for PerGroup<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self.0.as_slice() {
            [first, second] => {
                map.serialize_entry("first", first)?;
                map.serialize_entry("second", second)?;
            }
            groups => map.serialize_entry("groups", groups)?,
        }
        map.end()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DifferingSetting {
    pub of: &'static str,
    pub name: String,
    /// Absent if no run of the group has it. ` / ` separates values of runs that differ.
    #[serde(flatten)]
    pub values: PerGroup<Option<String>>,
}

const SELECTS: &str = "consecutive SELECTs";
const LIMITS: &str = "limits";
const PRODUCT: &str = "product";

impl DifferingSetting {
    pub fn in_short(&self) -> String {
        let mut values = self.values.iter().map(|value| value.as_deref().unwrap_or(NO_LIMIT));
        match self.of {
            LIMITS => format!("{} ({})", self.name, values.join(", then ")),
            _ => self.name.clone(),
        }
    }

    /// Warns of different work, of different statements for the same, and of limits.
    pub fn warning(&self, names: &[&str]) -> Option<String> {
        let unlimited = (self.of == LIMITS).then_some(NO_LIMIT);
        let known: Option<Vec<&str>> =
            self.values.iter().map(|value| value.as_deref().or(unlimited)).collect();
        let known = known?;
        let of_each = || names.iter().zip(&known).map(|(name, value)| format!("{name} {value}")).join(", ");
        match (self.name.as_str(), known.as_slice()) {
            (SELECTS, [first, second]) => Some(format!(
                "The two sides executed their SELECTs differently ({first}; {second}), so CPU and rates of cached reads \
                 can't be compared: repeat one side with the other's LOOP, or both with LOOP=statement."
            )),
            (SELECTS, _) => Some(format!(
                "These groups executed their SELECTs differently ({}), so CPU and rates of cached reads can't be compared: \
                 repeat all with LOOP=statement.",
                of_each()
            )),
            (name, _) if self.of == LIMITS || [PRODUCT, "SCALE"].contains(&name) => {
                Some(format!("Mind the different {name}: {}.", of_each()))
            }
            _ => None,
        }
    }
}

type Settings = Vec<(String, String)>;

/// Parameters first; of each kind by name.
pub fn differing(groups: &[Vec<&Record>]) -> Vec<DifferingSetting> {
    let mut values: BTreeMap<(usize, &'static str, String), Vec<BTreeSet<String>>> = BTreeMap::new();
    for (group, records) in groups.iter().enumerate() {
        for record in records {
            let kinds = [
                ("parameter", parameters(record)),
                ("server", server_settings(record)),
                (LIMITS, limits(record)),
                ("platform", platform(record)),
            ];
            for (place, (of, settings)) in kinds.into_iter().enumerate() {
                for (name, value) in settings {
                    let none = || vec![BTreeSet::new(); groups.len()];
                    values.entry((place, of, name)).or_insert_with(none)[group].insert(value);
                }
            }
        }
    }
    let differing = values.into_iter().filter(|(_, all)| !all.iter().all_equal());
    let words = |values: BTreeSet<String>| (!values.is_empty()).then(|| values.iter().join(" / "));
    let change = |((_, of, name), all): ((usize, &'static str, String), Vec<BTreeSet<String>>)| {
        DifferingSetting { of, name, values: PerGroup(all.into_iter().map(words).collect()) }
    };
    // A side in no group at all has no limit either.
    let is_limit = |value: &Option<String>| value.as_ref().is_some_and(|value| value != NO_LIMIT);
    let is_real = |change: &DifferingSetting| change.of != LIMITS || change.values.iter().any(is_limit);
    differing.map(change).filter(is_real).collect()
}

/// `they differ in I/O limit (none, then 8:0 riops=1000)`
pub fn differing_limits(groups: &[Vec<&Record>]) -> Option<String> {
    let limits = differing(groups).into_iter().filter(|differing| differing.of == LIMITS);
    let limits = limits.map(|limit| limit.in_short()).join(", ");
    (!limits.is_empty()).then(|| format!("they differ in {limits}"))
}

fn parameters(record: &Record) -> Settings {
    // These name a run and its folder, and make no difference.
    let names = ["RUN_NAME", "RESULTS_DIR"];
    let entries = record.configuration.iter().filter(|entry| !names.contains(&entry.key.as_str()));
    entries.map(|entry| (entry.key.clone(), entry.value.clone())).collect()
}

/// Parameters that somebody set, limits, and the product tell a run from others in a list.
pub fn told_apart_by(record: &Record) -> BTreeMap<String, String> {
    let is_set = |(name, _): &(String, String)| {
        record.configuration.iter().any(|entry| entry.key == *name && !entry.origin.starts_with("default"))
    };
    let set = parameters(record).into_iter().filter(is_set);
    let server = &record.server;
    let product = (PRODUCT.to_owned(), format!("{} {}", server.product, server.version));
    set.chain(limits_set(record)).chain([product]).collect()
}

fn server_settings(record: &Record) -> Settings {
    let server = &record.server;
    let settings = server.settings.iter().map(|setting| (setting.name.clone(), setting.value.clone()));
    let joined = if server.joined_selects { "one statement" } else { "one statement each" };
    let direct_io = server.direct_io.map(|is_direct| if is_direct { "yes" } else { "no" });
    let more = [
        (PRODUCT, Some(server.product.clone())),
        ("version", Some(server.version.clone())),
        ("block bytes", Some(server.block_bytes.to_string())),
        (SELECTS, Some(joined.to_owned())),
        ("direct I/O", direct_io.map(str::to_owned)),
    ];
    settings.chain(known(more)).collect()
}

fn known<const N: usize>(facts: [(&str, Option<String>); N]) -> Settings {
    facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// A limit is a result, and the first reason for a difference.
fn limits(record: &Record) -> Settings {
    let all = record.observed.iter().filter_map(|server| Some((server, server.limits.as_ref()?)));
    let of_server = |(server, group): (&ObservedRecord, &GroupLimits)| {
        let whose = server.endpoint.as_ref().map(|endpoint| format!(" of {endpoint}")).unwrap_or_default();
        let io = group.io.join(", ");
        let named = [
            ("CPU limit", group.cpus.map(|cpus| format!("{cpus} CPUs"))),
            ("memory limit", group.memory_bytes.map(size)),
            ("I/O limit", Some(io).filter(|io| !io.is_empty())),
        ];
        named.map(|(name, value)| (format!("{name}{whose}"), value.unwrap_or_else(|| NO_LIMIT.to_owned())))
    };
    all.flat_map(of_server).collect()
}

fn limits_set(record: &Record) -> impl Iterator<Item = (String, String)> {
    limits(record).into_iter().filter(|(_, value)| value != NO_LIMIT)
}

pub fn set_limits(record: &Record) -> Vec<String> {
    limits_set(record).map(|(name, value)| format!("{name} {value}")).collect()
}

pub const NO_LIMIT: &str = "none";

fn platform(record: &Record) -> Settings {
    let mut facts = vec![("slob version".to_owned(), record.slob_version.clone())];
    let Some(host) = &record.host else { return facts };
    let info = &host.info;
    facts.extend(known([
        ("host", Some(info.hostname.clone())),
        ("kernel", Some(info.kernel.clone())),
        ("architecture", Some(info.architecture.clone())),
        ("operating system", info.os.clone()),
        ("CPU model", info.cpu_model.clone()),
        ("CPUs", info.cpus_online.map(|cpus| cpus.to_string())),
        ("memory", info.memory_bytes.map(size)),
        ("virtualisation", info.virtualisation.clone()),
    ]));
    let Some(device) = host.device.as_ref().map(|device| &device.device) else { return facts };
    facts.extend(known([
        ("file system", Some(device.file_system.clone())),
        ("mount options", Some(device.mount_options.join(","))),
        ("device stack", Some(device.stack.join(" > "))),
    ]));
    for disk in &device.disks {
        let [scheduler, model] = ["scheduler", "model"].map(|what| format!("{what} of {}", disk.id.name));
        facts.extend(known([(&scheduler, disk.scheduler.clone()), (&model, disk.model.clone())]));
    }
    facts
}
