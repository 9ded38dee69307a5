//! The latencies that a step of a search for headroom must keep.

use serde::{Deserialize, Serialize};
use slob_facts::format::{duration_us, percent, plain_number};
use slob_facts::thresholds::{FLASH_READ, LATENCY_FACTOR};
use slob_facts::{LatencyLimit, Lead, figure};
use slob_stats::summary;

use crate::step::HeadroomStep;
use crate::{Figure, Figures};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeadroomLimit {
    /// A name such as `read-p99=2ms`, or `read-mean` of a default.
    pub name: String,
    pub column: String,
    /// Limits the steps whose responses lead instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_column: Option<String>,
    pub us: f64,
    /// Absent from a limit that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Basis {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub production_us: Option<f64>,
    /// Production's mean does not count: it is shorter than a device needs.
    pub production_cached: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low_load_us: Option<f64>,
    /// Low load has no such latency: it is the shortest run's at 1x.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub low_load_is_at_one: bool,
    /// Coefficient of variation of the runs at 1x; 0 without repeats.
    pub noise_percent: f64,
}

const DEFAULTS: [(&str, &str, Figure); 2] = [
    ("read-mean", "physical_read_mean_us", Figure::ReadUs),
    ("redo-mean", "redo_sync_mean_us", Figure::CommitUs),
];

/// True for a mean read that is shorter than any device needs.
pub fn is_page_cache(read_us: f64) -> bool {
    read_us < FLASH_READ.value
}

impl From<&LatencyLimit> for HeadroomLimit {
    fn from(limit: &LatencyLimit) -> Self {
        let [column, response] =
            [Lead::Operation, Lead::Response].map(|lead| limit.figure_in(lead).name.to_owned());
        let response_column = Some(response).filter(|response| *response != column);
        Self { name: limit.to_string(), column, response_column, us: limit.us(), basis: None }
    }
}

impl HeadroomLimit {
    /// The larger latency of production and of this platform at low load, times [`LATENCY_FACTOR`] and the noise at 1x.
    /// The shortest run at 1x replaces a missing run at low load.
    pub fn defaults(
        production: &Figures,
        low_load: Option<&HeadroomStep>,
        at_one: &[HeadroomStep],
    ) -> Vec<Self> {
        let limit = |(name, column, figure): (&str, &str, Figure)| {
            let production_us = production.get(figure).filter(|us| *us > 0.0);
            let repeats: Vec<f64> = at_one.iter().filter_map(|step| step.latency(column)).collect();
            let low_load = low_load.filter(|step| step.not_counted.is_none());
            let low_load_us = low_load.and_then(|step| step.latency(column));
            let shortest_us = summary::minimum(&repeats).filter(|_| low_load_us.is_none());
            let (low_load_us, low_load_is_at_one) = (low_load_us.or(shortest_us), shortest_us.is_some());
            let is_read = figure == Figure::ReadUs;
            let production_cached = is_read && production_us.is_some_and(is_page_cache);
            let counts = production_us.filter(|_| !production_cached);
            // The latency of a page cache varies with the load of the CPUs: a limit below a device's latency would break by
            // chance.
            let least = (is_read && low_load_us.is_some()).then_some(FLASH_READ.value);
            let us = counts.into_iter().chain(low_load_us).chain(least).reduce(f64::max)?;
            let us = us * LATENCY_FACTOR.value;
            let noise = summary::coefficient_of_variation(&repeats).unwrap_or(0.0);
            let noise_percent = 100.0 * noise;
            let basis =
                Basis { production_us, production_cached, low_load_us, low_load_is_at_one, noise_percent };
            let (name, column) = (name.to_owned(), column.to_owned());
            Some(Self { name, column, response_column: None, us, basis: Some(basis) })
        };
        DEFAULTS.into_iter().filter_map(limit).collect()
    }

    pub fn words(&self) -> String {
        let Some(basis) = &self.basis else { return self.name.clone() };
        let Basis { production_us, production_cached, low_load_us, low_load_is_at_one, noise_percent } =
            *basis;
        let own = low_load_us.unwrap_or_default();
        let production = production_us.filter(|us| !production_cached && *us >= own);
        let origin = match production {
            Some(us) => format!("production's {}", duration_us(us)),
            None if own * LATENCY_FACTOR.value < self.us => {
                format!("the {} us of flash: caches are quicker", plain_number(FLASH_READ.value))
            }
            None => {
                let load = if low_load_is_at_one { "at 1 time the demand" } else { "at low load" };
                format!("this platform's {} {load}", duration_us(own))
            }
        };
        let noise = match noise_percent {
            0.0 => String::new(),
            noise => format!(", and {} % for noise", percent(noise)),
        };
        let (name, us, times) = (&self.name, duration_us(self.us), plain_number(LATENCY_FACTOR.value));
        format!("{name}={us} ({times} times {origin}{noise})")
    }

    pub fn caution(&self) -> Option<String> {
        let basis = self.basis.as_ref().filter(|basis| basis.production_cached)?;
        Some(format!(
            "Production's mean read of {} is shorter than flash needs ({} us): its page cache served reads, so this latency is \
             no limit.",
            duration_us(basis.production_us?),
            plain_number(FLASH_READ.value)
        ))
    }

    /// The figure that this limits in `step`, with its value there.
    pub fn latency_of(&self, step: &HeadroomStep) -> Option<(&str, f64)> {
        let of_response = self.response_column.as_deref().filter(|_| step.leads == Lead::Response);
        let column = of_response.unwrap_or(&self.column);
        Some((column, step.latency(column)?))
    }

    pub(crate) fn broken_by(&self, step: &HeadroomStep) -> Option<Break> {
        let (column, us) = self.latency_of(step)?;
        let noise_percent = self.basis.as_ref().map_or(0.0, |basis| basis.noise_percent);
        let most_us = self.us * (1.0 + noise_percent / 100.0);
        (us > most_us).then(|| Break::Latency { column: column.to_owned(), us, most_us })
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Break {
    Rate { kept_percent: f64, rate: u32 },
    Latency { column: String, us: f64, most_us: f64 },
}

impl Break {
    pub fn words(&self) -> String {
        match self {
            Self::Rate { kept_percent, rate } => {
                format!("the rate is not kept: {} % of {rate} operations/s were done", percent(*kept_percent))
            }
            Self::Latency { column, us, most_us } => {
                let what =
                    figure::named(column).map_or_else(|| column.clone(), |own| own.title.to_lowercase());
                let mut shown = [*us, *most_us].map(duration_us);
                if shown[0] == shown[1] {
                    shown = [us, most_us].map(|us| format!("{us:.2} us"));
                }
                let [is, most] = shown;
                format!("the limit is {what}: {is} is more than {most}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(us: f64) -> HeadroomStep {
        HeadroomStep {
            rate: 100,
            rate_kept: true,
            latencies: [("physical_read_mean_us".to_owned(), us)].into(),
            ..HeadroomStep::default()
        }
    }

    fn read_limit(production_us: f64, low_us: f64, at_one: &[f64]) -> HeadroomLimit {
        let at_one: Vec<HeadroomStep> = at_one.iter().copied().map(step).collect();
        let production = [(Figure::ReadUs, production_us)].into_iter().collect();
        HeadroomLimit::defaults(&production, Some(&step(low_us)), &at_one).remove(0)
    }

    /// `p99` was of operations in a step whose sessions were late, and of responses in the run itself.
    #[test]
    fn a_limit_is_of_responses_where_these_lead_and_of_operations_where_it_says_so() {
        let columns = ["operation_p99_us", "response_p99_us"].map(str::to_owned);
        let latencies = columns.into_iter().zip([900.0, 9000.0]).collect();
        let late =
            HeadroomStep { latencies, leads: Lead::Response, rate_kept: true, ..HeadroomStep::default() };
        let broken = |limit: &str, step: &HeadroomStep| {
            let mut step = step.clone();
            step.judge(&[HeadroomLimit::from(&limit.parse::<LatencyLimit>().unwrap())]);
            step.broke.map(|broke| broke.words())
        };
        assert!(broken("p99=1ms", &late).unwrap().contains("9"), "{late:?}");
        assert_eq!(broken("operation-p99=1ms", &late), None);
        assert_eq!(broken("p99=1ms", &HeadroomStep { leads: Lead::Operation, ..late }), None);
    }

    #[test]
    fn the_larger_of_production_and_low_load_is_the_limit() {
        let of_production = read_limit(300.0, 80.0, &[100.0]);
        assert_eq!(of_production.words(), "read-mean=600 us (2 times production's 300 us)");
        let own = read_limit(60.0, 80.0, &[100.0]);
        assert_eq!(own.words(), "read-mean=160 us (2 times this platform's 80.0 us at low load)");
        assert!(own.broken_by(&step(161.0)).is_some() && own.broken_by(&step(159.0)).is_none());
        assert_eq!(own.caution(), None);
    }

    #[test]
    fn latencies_of_productions_page_cache_are_no_limit() {
        let limit = read_limit(23.0, 85.0, &[85.0]);
        assert_eq!(limit.us, 170.0);
        let said = limit.caution().unwrap();
        assert!(said.contains("23.0 us is shorter than flash needs (30 us)"), "{said}");
    }

    #[test]
    fn the_noise_of_a_page_cache_breaks_nothing() {
        let limit = read_limit(6.0, 9.1, &[23.9]);
        assert_eq!(limit.words(), "read-mean=60.0 us (2 times the 30 us of flash: caches are quicker)");
    }

    #[test]
    fn a_host_that_carries_its_own_load_with_noise_does_not_break() {
        // Production 75.0 us, the same host later 78.7 us: it was called broken.
        let mut again = step(78.7);
        again.judge(&[read_limit(71.4, 76.0, &[78.7, 75.1, 90.0])]);
        assert_eq!(again.broke, None);
    }

    #[test]
    fn noise_widens_default_limits_alone() {
        let noisy = read_limit(100.0, 80.0, &[80.0, 120.0, 100.0]);
        assert!(noisy.words().ends_with("production's 100 us, and 20.0 % for noise)"), "{}", noisy.words());
        assert!(noisy.broken_by(&step(239.0)).is_none() && noisy.broken_by(&step(241.0)).is_some());
        let asked = HeadroomLimit { name: "read-mean=1ms".into(), us: 1000.0, basis: None, ..noisy };
        assert_eq!(
            asked.broken_by(&step(1001.0)).unwrap().words(),
            "the limit is physical read, mean: 1001.00 us is more than 1000.00 us"
        );
    }
}
