//! Forms of numbers for people and for machines.

use std::fmt;
use std::num::NonZeroU32;

use itertools::Itertools;
use serde::Serialize;
pub use slob_awr::info::plain_number;
use slob_host::GroupLimits;
use slob_stats::TokenBucket;

pub const ABSENT: &str = "-";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Whole,
    Tenths,
    Hundredths,
    Thousandths,
    Significant,
    Percent,
    /// `+1.2`
    SignedPercent,
    /// The head names the unit: `145`, `85.3`.
    Micros,
    /// In the unit that fits: `1.23 ms`.
    Duration,
}

impl Format {
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Whole => fixed(value, 0),
            Self::Tenths => fixed(value, 1),
            Self::Hundredths => fixed(value, 2),
            Self::Thousandths => fixed(value, 3),
            Self::Significant => significant(value),
            Self::Percent => percent(value),
            Self::SignedPercent => signed_percent(value),
            Self::Micros => micros(value),
            Self::Duration => duration_us(value),
        }
    }
}

macro_rules! numbers {
    ($($(#[$about:meta])* $name:ident($number:ty) = $show:expr;)*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Serialize)]
        pub struct $name(pub $number);

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str(&$show(self.0))
            }
        }
    )*};
}

numbers! {
    Count(u64) = count;
    Percent(f64) = percent;
    SignedPercent(f64) = signed_percent;
    Share(f64) = |ratio| percent(100.0 * ratio);
    Duration(f64) = duration_us;
    Seconds(f64) = seconds;
    Whole(f64) = |value| fixed(value, 0);
    Tenths(f64) = |value| fixed(value, 1);
    Hundredths(f64) = |value| fixed(value, 2);
    Thousandths(f64) = |value| fixed(value, 3);
}

pub fn shown(value: Option<impl fmt::Display>) -> String {
    or_absent(value, |value| value.to_string())
}

pub fn or_absent<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| ABSENT.to_owned(), show)
}

pub fn count(n: u64) -> String {
    separated(&n.to_string())
}

pub fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return ABSENT.to_owned();
    }
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let negative = value < 0.0 && text.bytes().any(|digit| (b'1'..=b'9').contains(&digit));
    format!("{}{}{fraction}", if negative { "-" } else { "" }, separated(whole))
}

/// About four significant digits, at most six decimals: `1,234,567`, `345.6`, `0.001234`.
pub fn significant(value: f64) -> String {
    let size = value.abs();
    let decimals = match size {
        _ if size == 0.0 => 1,
        _ if size >= 999.95 => 0,
        _ if size >= 99.995 => 1,
        _ if size >= 9.9995 => 2,
        _ if size >= 0.99995 => 3,
        _ if size >= 0.1 => 4,
        _ if size >= 0.01 => 5,
        _ => 6,
    };
    fixed(value, decimals)
}

/// Two decimals close to 0 and 100, so that nearly all differs from all.
pub fn percent(value: f64) -> String {
    match value {
        _ if (99.95..100.0).contains(&value) => fixed(value.min(99.99), 2),
        _ if value > 0.0 && value < 0.095 => fixed(value.max(0.01), 2),
        _ => fixed(value, 1),
    }
}

pub fn signed_percent(value: f64) -> String {
    let text = fixed(value, 1);
    let has_no_plus = text.starts_with('-') || text == ABSENT || text == "0.0";
    if has_no_plus { text } else { format!("+{text}") }
}

pub fn micros(us: f64) -> String {
    fixed(us, if us.abs() < 99.95 { 1 } else { 0 })
}

/// `85.3 us`, `145 us`, `1.23 ms`, `2.50 s`
pub fn duration_us(us: f64) -> String {
    match us.abs() {
        size if size < 999.5 => format!("{} us", micros(us)),
        size if size < 999_500.0 => format!("{} ms", three_digits(us / 1e3)),
        _ => format!("{} s", three_digits(us / 1e6)),
    }
}

pub fn seconds(s: f64) -> String {
    trimmed(s, "s")
}

/// One decimal, unless it is zero.
fn trimmed(value: f64, unit: &str) -> String {
    let text = fixed(value, 1);
    format!("{} {unit}", text.strip_suffix(".0").unwrap_or(&text))
}

/// `90.5 s`, `3.5 min`, `60 min`, `2.5 h`, `7 days`
pub fn length(seconds: f64) -> String {
    match seconds {
        _ if seconds < 120.0 => trimmed(seconds, "s"),
        _ if seconds < 597.0 => trimmed(seconds / 60.0, "min"),
        _ if seconds < 7200.0 => format!("{} min", fixed(seconds / 60.0, 0)),
        _ if seconds < 2.0 * 86_400.0 => trimmed(seconds / 3600.0, "h"),
        _ => trimmed(seconds / 86_400.0, "days"),
    }
}

/// A clause. Credits may count I/Os or bytes: both are named.
pub fn burst_credits(bucket: &TokenBucket, block_bytes: u32) -> String {
    let mb = |blocks: f64| fixed(blocks * f64::from(block_bytes) / 1e6, 1);
    let TokenBucket { burst_per_s, base_per_s, lasts_s, credits } = *bucket;
    let gb = significant(credits * f64::from(block_bytes) / 1e9);
    let [burst, base, all] = [burst_per_s, base_per_s, credits].map(|value| fixed(value, 0));
    let (burst_mb, base_mb, lasts) = (mb(burst_per_s), mb(base_per_s), length(lasts_s));
    format!(
        "fell from {burst} to {base} IOPS ({burst_mb} to {base_mb} MB/s) after {lasts}: a volume with burst credits does that \
         (a bucket of at least {all} I/Os or {gb} GB, refilled at {base}/s); at this load it lasts {lasts}"
    )
}

/// `512 B`, `8.0 KiB`, `64.0 GiB`
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let (mut amount, mut unit) = (bytes as f64 / 1024.0, 0);
    // 1023.95 would show as 1,024.0 of the smaller unit.
    while amount >= 1023.95 && unit + 1 < UNITS.len() {
        amount /= 1024.0;
        unit += 1;
    }
    format!("{} {}", fixed(amount, 1), UNITS[unit])
}

pub fn limits(group: &GroupLimits) -> String {
    let cpus = group.cpus.map(|cpus| format!("{} CPUs", fixed(cpus, 2)));
    let memory = group.memory_bytes.map(|bytes| format!("{} of memory", size(bytes)));
    let io = (!group.io.is_empty()).then(|| format!("I/O {}", group.io.join(", ")));
    let all = cpus.into_iter().chain(memory).chain(io).join("; ");
    let all = if all.is_empty() { "none" } else { &all };
    format!("{all}, of the control group {} (version {})", group.path, group.version)
}

/// `every operation`, `every 2nd operation`, `every 13th operation`
pub fn every(n: NonZeroU32, noun: &str) -> String {
    let n = n.get();
    let ending = match (n % 10, n % 100) {
        _ if n == 1 => return format!("every {noun}"),
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("every {}{ending} {noun}", count(u64::from(n)))
}

pub fn plural(n: u64, noun: &str) -> String {
    let ending = if noun.ends_with("ch") { "es" } else { "s" };
    format!("{} {noun}{}", count(n), if n == 1 { "" } else { ending })
}

fn three_digits(value: f64) -> String {
    let decimals = match value.abs() {
        size if size < 9.995 => 2,
        size if size < 99.95 => 1,
        _ => 0,
    };
    fixed(value, decimals)
}

fn separated(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    #[rstest]
    #[case(0, "0")]
    #[case(999, "999")]
    #[case(1000, "1,000")]
    #[case(1_234_567, "1,234,567")]
    #[case(u64::MAX, "18,446,744,073,709,551,615")]
    fn counts_have_separators(#[case] n: u64, #[case] text: &str) {
        assert_eq!(count(n), text);
    }

    #[rstest]
    #[case(-1234.5, 2, "-1,234.50")]
    #[case(999.999, 1, "1,000.0")]
    #[case(-0.001, 1, "0.0")]
    #[case(0.5, 0, "0")]
    #[case(f64::NAN, 1, "-")]
    #[case(f64::INFINITY, 1, "-")]
    fn fixed_decimals(#[case] value: f64, #[case] decimals: usize, #[case] text: &str) {
        assert_eq!(fixed(value, decimals), text);
    }

    #[rstest]
    #[case(1_234_567.8, "1,234,568")]
    #[case(999.96, "1,000")]
    #[case(345.64, "345.6")]
    #[case(45.678, "45.68")]
    #[case(1.2345, "1.234")]
    #[case(0.001_234_4, "0.001234")]
    #[case(0.0, "0.0")]
    fn four_digits(#[case] value: f64, #[case] text: &str) {
        assert_eq!(significant(value), text);
    }

    #[rstest]
    #[case(15.0, "15 s")]
    #[case(90.5, "90.5 s")]
    #[case(150.0, "2.5 min")]
    #[case(900.0, "15 min")]
    #[case(1860.0, "31 min")]
    #[case(3600.0, "60 min")]
    #[case(9000.0, "2.5 h")]
    #[case(604_800.0, "7 days")]
    fn lengths_have_one_unit(#[case] seconds: f64, #[case] text: &str) {
        assert_eq!(length(seconds), text);
    }

    #[test]
    fn a_bucket_is_of_operations_and_of_bytes() {
        let credits = 13_000.0 * 1860.0;
        let bucket = TokenBucket { burst_per_s: 16_000.0, base_per_s: 3000.0, lasts_s: 1860.0, credits };
        assert_eq!(
            burst_credits(&bucket, 8192),
            "fell from 16,000 to 3,000 IOPS (131.1 to 24.6 MB/s) after 31 min: a volume with burst credits does that (a bucket of at \
             least 24,180,000 I/Os or 198.1 GB, refilled at 3,000/s); at this load it lasts 31 min"
        );
    }

    #[rstest]
    #[case(50.04, "50.0")]
    #[case(99.97, "99.97")]
    #[case(99.999, "99.99")]
    #[case(100.0, "100.0")]
    #[case(0.03, "0.03")]
    #[case(0.0001, "0.01")]
    #[case(0.0, "0.0")]
    fn nearly_all_is_not_all(#[case] value: f64, #[case] text: &str) {
        assert_eq!(percent(value), text);
    }

    #[rstest]
    #[case(1.24, "+1.2")]
    #[case(-1.24, "-1.2")]
    #[case(0.01, "0.0")]
    fn changes_have_a_sign(#[case] value: f64, #[case] text: &str) {
        assert_eq!(signed_percent(value), text);
    }

    #[rstest]
    #[case(0.4, "0.4 us")]
    #[case(85.34, "85.3 us")]
    #[case(145.4, "145 us")]
    #[case(999.6, "1.00 ms")]
    #[case(1234.0, "1.23 ms")]
    #[case(12_345.0, "12.3 ms")]
    #[case(999_600.0, "1.00 s")]
    #[case(2_500_000.0, "2.50 s")]
    #[case(1e10, "10,000 s")]
    fn durations_choose_their_unit(#[case] us: f64, #[case] text: &str) {
        assert_eq!(duration_us(us), text);
    }

    #[rstest]
    #[case(512, "512 B")]
    #[case(8192, "8.0 KiB")]
    #[case((1 << 20) - 1, "1.0 MiB")]
    #[case(64 << 30, "64.0 GiB")]
    #[case(u64::MAX, "16.0 EiB")]
    fn sizes_choose_their_unit(#[case] bytes: u64, #[case] text: &str) {
        assert_eq!(size(bytes), text);
    }

    #[rstest]
    #[case(1, "every operation")]
    #[case(2, "every 2nd operation")]
    #[case(3, "every 3rd operation")]
    #[case(4, "every 4th operation")]
    #[case(11, "every 11th operation")]
    #[case(12, "every 12th operation")]
    #[case(21, "every 21st operation")]
    #[case(1013, "every 1,013th operation")]
    fn every_so_many_in_english(#[case] n: u32, #[case] text: &str) {
        assert_eq!(every(NonZeroU32::new(n).unwrap(), "operation"), text);
    }

    #[test]
    fn absent_is_not_zero() {
        assert_eq!(or_absent(None::<u64>, count), "-");
        assert_eq!(or_absent(Some(0), count), "0");
        assert_eq!((seconds(60.0), seconds(60.25)), ("60 s".into(), "60.2 s".into()));
        assert_eq!(
            (plural(1, "session"), plural(2000, "session"), plural(2, "search")),
            ("1 session".into(), "2,000 sessions".into(), "2 searches".into())
        );
    }

    #[test]
    fn plain_numbers_are_short_and_keep_six_digits() {
        for (number, text) in [
            (1_234_567.8, "1234568"),
            (12_345.678_9, "12345.68"),
            (12.345_678, "12.3457"),
            (0.012_345_678, "0.0123457"),
            (5.0, "5"),
            (0.0, "0"),
            (-0.000_000_001, "0"),
            (100_000.0, "100000"),
        ] {
            assert_eq!(plain_number(number), text);
        }
    }

    proptest! {
        #[test]
        fn separators_lose_no_digit(n in any::<u64>()) {
            let text = count(n);
            prop_assert_eq!(text.replace(',', "").parse::<u64>().unwrap(), n);
            prop_assert!(text.split(',').skip(1).all(|group| group.len() == 3));
        }

        #[test]
        fn significant_stays_near(value in 1e-3_f64..1e12) {
            let shown: f64 = significant(value).replace(',', "").parse().unwrap();
            prop_assert!((shown - value).abs() <= 1e-3 * value, "{} for {}", shown, value);
        }
    }
}
