//! Options of a plan or a search for headroom: flags, or the `demand` of a campaign's plan.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize};
use serde_with::{DisplayFromStr, serde_as};
use slob_facts::LatencyLimit;
use slob_spec::{Kind, Value};

#[serde_as]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    pub profile: PathBuf,
    /// One instance of a cluster.
    pub instance: Option<String>,
    pub at: String,
    pub by: Option<String>,
    pub grow: f64,
    pub peak_factor: Option<f64>,
    /// Length of a calibration run, as a text of `slob.conf`.
    #[serde(deserialize_with = "number_or_text")]
    pub calibration: String,
    pub max_sessions: u32,
    #[serde_as(as = "Vec<DisplayFromStr>")]
    pub limits: Vec<LatencyLimit>,
    pub most: f64,
    pub repeats: u32,
    pub count_cached: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            profile: PathBuf::from("profile.json"),
            instance: None,
            at: "peak".to_owned(),
            by: None,
            grow: 1.0,
            peak_factor: None,
            calibration: "15s".to_owned(),
            max_sessions: 256,
            limits: Vec::new(),
            most: 64.0,
            repeats: 3,
            count_cached: false,
        }
    }
}

impl Options {
    /// Name, value, and what is permitted, of each number out of its range.
    pub fn faults(&self) -> Vec<(&'static str, String, &'static str)> {
        let (most, repeats, sessions) = (self.most, self.repeats, self.max_sessions);
        let numbers = [
            ("most", (1.0..=1e6).contains(&most), most.to_string(), "1 to 1000000"),
            ("repeats", (1..=20).contains(&repeats), repeats.to_string(), "1 to 20"),
            ("max_sessions", (1..=65_535).contains(&sessions), sessions.to_string(), "1 to 65535"),
        ];
        let faults = numbers.into_iter().filter(|(_, is_permitted, ..)| !is_permitted);
        faults.map(|(key, _, value, permitted)| (key, value, permitted)).collect()
    }

    pub fn shown(&self) -> BTreeMap<String, String> {
        let limits: Vec<String> = self.limits.iter().map(ToString::to_string).collect();
        let all = [
            ("instance", self.instance.clone()),
            ("at", Some(self.at.clone())),
            ("by", self.by.clone()),
            ("grow", Some(self.grow.to_string())),
            ("peak_factor", self.peak_factor.map(|factor| factor.to_string())),
            ("calibration", Some(self.calibration.clone())),
            ("max_sessions", Some(self.max_sessions.to_string())),
            ("limits", (!limits.is_empty()).then(|| limits.join(", "))),
            ("most", Some(self.most.to_string())),
            ("repeats", Some(self.repeats.to_string())),
            ("count_cached", Some(self.count_cached.to_string())),
        ];
        all.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
    }
}

fn number_or_text<'de, D: Deserializer<'de>>(value: D) -> Result<String, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Number(u64),
        Text(String),
    }
    Ok(match Either::deserialize(value)? {
        Either::Number(number) => number.to_string(),
        Either::Text(text) => text,
    })
}

pub fn parse_time(kind: Kind, text: &str) -> Option<Duration> {
    // The block size does not matter to a time.
    match kind.parse(text, 8192) {
        Ok(Value::Duration(time)) => Some(time),
        _ => None,
    }
}
