use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};
use serde_with::{DeserializeFromStr, SerializeDisplay};

use crate::param::{FromValue, Value};
use crate::workload::HotSpot;

/// Holds no copy of the rejected text, which may be a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {permitted}")]
pub struct BadValue {
    /// The words follow 'expected'.
    pub permitted: String,
}

impl BadValue {
    pub(crate) fn expected(permitted: impl Into<String>) -> Self {
        Self { permitted: permitted.into() }
    }
}

/// Hundredths of a percent, saved as a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "Decimal", try_from = "Decimal")]
pub struct Percent(u16);

impl Percent {
    pub const ALL: Self = Self(10_000);

    pub fn new(percent: u8) -> Result<Self, BadValue> {
        Self::of_hundredths(100 * u64::from(percent))
            .ok_or_else(|| BadValue::expected("a percentage from 0 to 100"))
    }

    pub fn of_hundredths(hundredths: u64) -> Option<Self> {
        u16::try_from(hundredths).ok().filter(|hundredths| *hundredths <= Self::ALL.0).map(Self)
    }

    pub const fn hundredths(self) -> u16 {
        self.0
    }

    pub fn get(self) -> f64 {
        f64::from(self.0) / 100.0
    }

    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl From<Percent> for Decimal {
    fn from(percent: Percent) -> Self {
        Self(Self::ONE / 100 * u64::from(percent.0))
    }
}

impl TryFrom<Decimal> for Percent {
    type Error = BadValue;

    fn try_from(Decimal(scaled): Decimal) -> Result<Self, BadValue> {
        const HUNDREDTH: u64 = Decimal::ONE / 100;
        let percent = scaled.is_multiple_of(HUNDREDTH).then(|| Self::of_hundredths(scaled / HUNDREDTH));
        let bad = || BadValue::expected("a percentage from 0 to 100 with up to two decimals");
        percent.flatten().ok_or_else(bad)
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Decimal::from(*self).fmt(f)
    }
}

/// A number with up to six decimals, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "f64")]
pub struct Decimal(pub(crate) u64);

impl Decimal {
    pub(crate) const ONE: u64 = 1_000_000;

    /// `places` is at most six.
    pub(crate) fn parse(text: &str, places: usize) -> Option<Self> {
        let (number, decimals) = text.split_once('.').unwrap_or((text, ""));
        if decimals.len() > places || (number.is_empty() && decimals.is_empty()) {
            return None;
        }
        let number = if number.is_empty() { 0 } else { whole(number)? };
        let decimals = whole(&format!("{decimals:0<6}"))?;
        number.checked_mul(Self::ONE)?.checked_add(decimals).map(Self)
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, decimals) = (self.0 / Self::ONE, self.0 % Self::ONE);
        match decimals {
            0 => number.fmt(f),
            decimals => f.write_str(format!("{number}.{decimals:06}").trim_end_matches('0')),
        }
    }
}

impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0.is_multiple_of(Self::ONE) {
            true => to.serialize_u64(self.0 / Self::ONE),
            false => to.serialize_f64(self.0 as f64 / Self::ONE as f64),
        }
    }
}

impl TryFrom<f64> for Decimal {
    type Error = BadValue;

    fn try_from(number: f64) -> Result<Self, BadValue> {
        let scaled = (number * Self::ONE as f64).round();
        // Larger numbers have no exact millionths.
        let is_sound = (0.0..9e15).contains(&scaled);
        is_sound
            .then_some(Self(scaled as u64))
            .ok_or_else(|| BadValue::expected("a number that is not negative"))
    }
}

/// N of 'every Nth', from 1. Every 1.25th are four of five, evenly spread.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, derive_more::Display,
)]
#[serde(try_from = "Decimal")]
pub struct Every(Decimal);

impl Every {
    pub const ONE: Self = Self(Decimal(Decimal::ONE));

    pub fn new(number: u32) -> Option<Self> {
        Self::of_millionths(Decimal::ONE * u64::from(number))
    }

    pub fn of_millionths(number: u64) -> Option<Self> {
        Decimal(number).try_into().ok()
    }

    pub fn get(self) -> f64 {
        self.0.0 as f64 / Decimal::ONE as f64
    }

    /// `None` if it has decimals.
    pub fn whole(self) -> Option<u64> {
        self.0.0.is_multiple_of(Decimal::ONE).then_some(self.0.0 / Decimal::ONE)
    }

    /// The first number is 1.
    pub fn is_nth(self, number: u64) -> bool {
        let before = |number: u64| number.wrapping_mul(Decimal::ONE) / self.0.0;
        before(number) > before(number.saturating_sub(1))
    }
}

impl TryFrom<Decimal> for Every {
    type Error = BadValue;

    fn try_from(number: Decimal) -> Result<Self, BadValue> {
        if number >= Self::ONE.0 { Ok(Self(number)) } else { Err(BadValue::expected("1 or more")) }
    }
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, derive_more::Display,
)]
#[serde(try_from = "u16")]
pub struct WorkUnit(u16);

impl WorkUnit {
    pub(crate) const MIN: u16 = 1;
    pub(crate) const MAX: u16 = 1024;

    pub fn new(blocks: u16) -> Result<Self, BadValue> {
        let bad = || BadValue::expected(format!("a whole number from {} to {}", Self::MIN, Self::MAX));
        if (Self::MIN..=Self::MAX).contains(&blocks) { Ok(Self(blocks)) } else { Err(bad()) }
    }

    pub fn get(self) -> u16 {
        self.0
    }
}

impl TryFrom<u16> for WorkUnit {
    type Error = BadValue;

    fn try_from(blocks: u16) -> Result<Self, BadValue> {
        Self::new(blocks)
    }
}

/// 2^40.
pub const MAX_SCALE_BLOCKS: u64 = 1 << 40;

const SIZE_UNITS: [(char, u64); 5] =
    [('T', 1 << 40), ('G', 1 << 30), ('M', 1 << 20), ('K', 1 << 10), ('B', 1)];

/// A plain number counts blocks, a number with a unit bytes.
///
/// `10000` is 10,000 blocks; `80M` is 80 MiB. K, M, G and T are powers of 1024, B single bytes. [`fmt::Display`] writes text for
/// [`FromStr`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Size {
    Blocks(u64),
    Bytes(u64),
}

impl Size {
    /// Rounded down; 0 for a block size of 0.
    pub fn blocks(self, block_bytes: u32) -> u64 {
        match self {
            Self::Blocks(blocks) => blocks,
            Self::Bytes(bytes) => bytes.checked_div(u64::from(block_bytes)).unwrap_or(0),
        }
    }
}

impl FromStr for Size {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let bad = || BadValue::expected("a number of blocks, or a size such as 80M (units K, M, G, T)");
        let (digits, factor) = split_unit(text, &SIZE_UNITS);
        let number = whole(digits).ok_or_else(bad)?;
        match factor {
            None => Ok(Self::Blocks(number)),
            Some(factor) => number.checked_mul(factor).map(Self::Bytes).ok_or_else(bad),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Blocks(blocks) => write!(f, "{blocks}"),
            Self::Bytes(0) => f.write_str("0B"),
            Self::Bytes(bytes) => {
                let unit = SIZE_UNITS.iter().find(|(_, factor)| bytes % factor == 0);
                let (name, factor) = unit.unwrap_or(&('B', 1));
                write!(f, "{}{name}", bytes / factor)
            }
        }
    }
}

/// Units have any case.
fn split_unit<'a>(text: &'a str, units: &[(char, u64)]) -> (&'a str, Option<u64>) {
    let last = text.chars().last().map(|last| last.to_ascii_uppercase());
    match units.iter().find(|(name, _)| Some(*name) == last) {
        Some((_, factor)) => (&text[..text.len() - 1], Some(*factor)),
        None => (text, None),
    }
}

/// There is no sign or grouping.
pub(crate) fn whole(text: &str) -> Option<u64> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A number above 0, perhaps with a unit: `4.20 EUR`, `16 cores`.
#[derive(Clone, Debug, PartialEq, derive_more::Display, SerializeDisplay, DeserializeFromStr)]
#[display("{text}")]
pub struct Amount {
    number: f64,
    text: String,
}

/// The number is never NaN.
impl Eq for Amount {}

impl Amount {
    pub(crate) const PERMITTED: &str =
        "a number above 0, with a unit behind it if you like and a point for decimals: 4.20 EUR";

    pub fn number(&self) -> f64 {
        self.number
    }

    /// Empty without a unit.
    pub fn unit(&self) -> &str {
        self.text.trim_start_matches(is_of_number).trim()
    }
}

fn is_of_number(c: char) -> bool {
    c.is_ascii_digit() || c == '.'
}

impl FromStr for Amount {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let unit = text.trim_start_matches(is_of_number);
        let number = text[..text.len() - unit.len()].parse().ok();
        // Only the user knows the number with digits behind a comma or a blank.
        let is_unit = !unit.contains(|c: char| c.is_ascii_digit() || c == ',' || c.is_control());
        number
            .filter(|number: &f64| is_unit && number.is_finite() && *number > 0.0)
            .map(|number| Self { number, text: text.to_owned() })
            .ok_or_else(|| BadValue::expected(Self::PERMITTED))
    }
}

/// `300`, `.5`, `90s`, `15m`, `8h` and `1d` are exact, without floating point. `None` if it has more than six decimals or does
/// not fit.
pub(crate) fn parse_seconds(text: &str) -> Option<Duration> {
    let (number, unit_s) = split_unit(text, &[('S', 1), ('M', 60), ('H', 3600), ('D', 86_400)]);
    let Decimal(micros) = Decimal::parse(number, 6)?;
    micros.checked_mul(unit_s.unwrap_or(1)).map(Duration::from_micros)
}

/// Writes `300` or `0.5`, to the microsecond.
pub(crate) fn format_seconds(span: Duration) -> String {
    Decimal(u64::try_from(span.as_micros()).unwrap_or(u64::MAX)).to_string()
}

/// Neither printable nor serialisable; a search for [`Secret::expose`] finds every use.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// It replaces a secret in every output.
pub(crate) const MASK: &str = "********";

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Only clients of databases may call it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl Drop for Secret {
    /// A core dump then has one copy less.
    fn drop(&mut self) {
        let mut bytes = std::mem::take(&mut self.0).into_bytes();
        bytes.fill(0);
        // Otherwise the compiler may drop the store.
        std::hint::black_box(&bytes);
    }
}

/// 1 to 64 of the letters a-z and A-Z, digits, `.`, `_` and `-`: a part of a directory's name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, derive_more::Display)]
pub struct RunName(String);

impl RunName {
    pub(crate) const PERMITTED: &str = "1 to 64 letters a-z, digits, '.', '_' or '-'";

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RunName {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if (1..=64).contains(&text.len()) && text.bytes().all(allowed) {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadValue::expected(Self::PERMITTED))
        }
    }
}

/// Each value has its word in `slob.conf` and its meaning in the help.
macro_rules! choice {
    (
        $(#[$doc:meta])*
        $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal, $meaning:literal;)+ }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            pub(crate) const CHOICES: &[(&str, &str)] = &[$(($word, $meaning)),+];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl FromValue for $name {
            fn from_value(value: &Value) -> Option<Self> {
                match value {
                    $(Value::Choice($word) => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

choice! {
    /// Columns that an UPDATE changes.
    RedoStress {
        /// c2 and c20, of 128 characters each.
        Lite = "LITE", "2 columns";
        Heavy = "HEAVY", "all 19 columns";
    }
}

choice! {
    SessionLoss {
        Fail = "fail", "the run ends as failed";
        Reconnect = "reconnect", "the session reconnects, to an endpoint that answers";
        Drop = "drop", "the session ends, the others continue";
    }
}

choice! {
    ArrivalProcess {
        Steady = "steady", "all equal";
        Poisson = "poisson", "exponential, as from many independent users";
    }
}

choice! {
    /// Some servers have such a report.
    StatisticsType {
        Statspack = "statspack", "needs no licence: snapshots at both ends of the window";
        /// Never taken unless asked for.
        Awr = "awr", "needs a licensed pack: snapshots, and the reports as text and HTML in the run's folder";
    }
}

choice! {
    /// The kernel traces the server's reads and writes.
    TraceWhen {
        After = "after", "for ten seconds more behind the window, or its length if that is shorter; the window stays undisturbed";
        Window = "window", "in the whole window";
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    Time(Duration),
    /// Operations of each session; there is no warm-up.
    Operations(u64),
}

/// Full load before the window: `5`, `auto` or `auto:10m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmUp {
    For(Duration),
    /// Until rate and response time are steady, and no longer than this.
    Auto(Duration),
}

impl WarmUp {
    pub const NONE: Self = Self::For(Duration::ZERO);
    const USUAL_LIMIT: Duration = Duration::from_secs(300);
    /// Three windows of a second.
    const LEAST_LIMIT: Duration = Duration::from_secs(3);
    const WORD: &str = "auto";

    pub fn at_most(self) -> Duration {
        match self {
            Self::For(time) | Self::Auto(time) => time,
        }
    }

    pub fn is_auto(self) -> bool {
        matches!(self, Self::Auto(_))
    }

    pub(crate) fn parse(text: &str, most: Duration) -> Option<Self> {
        let (word, limit) = text.split_once(':').map_or((text, None), |(word, limit)| (word, Some(limit)));
        if !word.eq_ignore_ascii_case(Self::WORD) {
            return parse_seconds(text).filter(|time| *time <= most).map(Self::For);
        }
        let limit = limit.map_or(Some(Self::USUAL_LIMIT), parse_seconds)?;
        (Self::LEAST_LIMIT..=most).contains(&limit).then_some(Self::Auto(limit))
    }

    pub(crate) fn permitted(most: Duration) -> String {
        let (least, most) = (Self::LEAST_LIMIT.as_secs(), most.as_secs());
        format!(
            "0 to {most} seconds, or with a unit: 90s, 15m; or auto, with a limit auto:10m ({least} s or more)"
        )
    }
}

impl fmt::Display for WarmUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::For(time) => f.write_str(&format_seconds(time)),
            Self::Auto(Self::USUAL_LIMIT) => f.write_str(Self::WORD),
            Self::Auto(limit) => write!(f, "{}:{}s", Self::WORD, format_seconds(limit)),
        }
    }
}

/// Ends a run when its last windows agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UntilSteady {
    /// The least is 1.
    pub window_s: u64,
    /// Largest difference of their rates, in percent of their mean: 1 to 50.
    pub tolerance_percent: u8,
}

impl UntilSteady {
    /// Two windows may agree while the rate turns around.
    pub const WINDOWS: u64 = 3;
}

/// Every `every`th SELECT or UPDATE stays within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HotSpotSize {
    pub size_mb: NonZeroU64,
    /// The distance from the start of the active data set.
    pub offset_mb: u64,
    pub every: Every,
}

impl HotSpotSize {
    pub fn in_blocks(&self, block_bytes: u32) -> HotSpot {
        HotSpot {
            first_block: mib_to_blocks(self.offset_mb, block_bytes).saturating_add(1),
            blocks: mib_to_blocks(self.size_mb.get(), block_bytes),
            every: self.every,
        }
    }
}

fn mib_to_blocks(mib: u64, block_bytes: u32) -> u64 {
    Size::Bytes(mib.saturating_mul(1 << 20)).blocks(block_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    #[test]
    fn numbers_are_within_both_ends() {
        assert_eq!(Percent::new(100).map(Percent::hundredths), Ok(10_000));
        assert!(Percent::new(101).is_err());
        assert!(WorkUnit::new(0).is_err());
        assert_eq!(WorkUnit::new(1).map(WorkUnit::get), Ok(1));
        assert_eq!(WorkUnit::new(1024).map(WorkUnit::get), Ok(1024));
        assert!(WorkUnit::new(1025).is_err());
    }

    #[rstest]
    #[case("10000", 10_000)]
    #[case("80M", 10_240)]
    #[case("80m", 10_240)]
    #[case("1T", 1 << 27)]
    #[case("8K", 1)]
    #[case("7K", 0)]
    #[case("16385B", 2)]
    fn counts_whole_blocks_of_8_kib(#[case] text: &str, #[case] blocks: u64) {
        assert_eq!(text.parse::<Size>().map(|size| size.blocks(8192)), Ok(blocks));
    }

    #[test]
    fn bad_sizes_are_refused() {
        for text in "|M|80MB|80 M|+80M|-1|1.5G|80Ḿ|18446744073709551616|16777216T".split('|') {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_size_is_written_as_it_was_read() {
        for text in ["10000", "80M", "1T", "3G", "5K", "16385B"] {
            assert_eq!(text.parse::<Size>().map(|size| size.to_string()), Ok(text.to_owned()));
        }
    }

    #[rstest]
    #[case("300", 300_000_000)]
    #[case(".1", 100_000)]
    #[case("0.000001", 1)]
    #[case("5.", 5_000_000)]
    #[case("90S", 90_000_000)]
    #[case("15m", 900_000_000)]
    #[case("8h", 28_800_000_000)]
    #[case("1d", 86_400_000_000)]
    #[case("1.5h", 5_400_000_000)]
    fn durations_are_read(#[case] text: &str, #[case] micros: u64) {
        assert_eq!(parse_seconds(text), Some(Duration::from_micros(micros)));
    }

    #[test]
    fn bad_durations_are_refused() {
        for text in "|.|h|-1|1e3|1,5|5 m|0.0000001|18446744073709551615|5é".split('|') {
            assert_eq!(parse_seconds(text), None, "{text}");
        }
    }

    #[rstest]
    #[case("0", WarmUp::NONE, "0")]
    #[case("1.5m", WarmUp::For(Duration::from_secs(90)), "90")]
    #[case("auto", WarmUp::Auto(Duration::from_secs(300)), "auto")]
    #[case("Auto:5m", WarmUp::Auto(Duration::from_secs(300)), "auto")]
    #[case("AUTO:10m", WarmUp::Auto(Duration::from_secs(600)), "auto:600s")]
    #[case("auto:3", WarmUp::Auto(Duration::from_secs(3)), "auto:3s")]
    #[case("auto:4.5s", WarmUp::Auto(Duration::from_millis(4500)), "auto:4.5s")]
    fn warm_ups_are_read(#[case] text: &str, #[case] warm_up: WarmUp, #[case] shown: &str) {
        let most = Duration::from_secs(24 * 3600);
        assert_eq!(WarmUp::parse(text, most), Some(warm_up));
        assert_eq!(warm_up.to_string(), shown);
        assert_eq!(WarmUp::parse(shown, most), Some(warm_up));
    }

    #[test]
    fn bad_warm_ups_are_refused() {
        for text in "|automatic|auto:|auto:2|auto:2d|auto:-1|auto 10m|:10|10:auto|2d".split('|') {
            assert_eq!(WarmUp::parse(text, Duration::from_secs(24 * 3600)), None, "{text}");
        }
    }

    #[test]
    fn debug_hides_the_text() {
        let secret = Secret::new("tiger");
        assert_eq!(format!("{secret:?} {:?}", Some(&secret)), "******** Some(********)");
        assert_eq!(secret.expose(), "tiger");
    }

    #[test]
    fn a_run_name_suits_any_file_system() {
        assert!("raw-8k_v2.1".parse::<RunName>().is_ok());
        assert!("x".repeat(64).parse::<RunName>().is_ok());
        for bad in ["", "a b", "a/b", "é", &"x".repeat(65)] {
            assert!(bad.parse::<RunName>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_hot_spot_begins_at_its_offset() {
        let size_mb = NonZeroU64::new(8).unwrap();
        let hot = HotSpotSize { size_mb, offset_mb: 16, every: Every::ONE };
        let small = hot.in_blocks(8192);
        assert_eq!((small.first_block, small.last_block(), small.blocks), (2049, 3072, 1024));
        let large = hot.in_blocks(16384);
        assert_eq!((large.first_block, large.last_block()), (1025, 1536));
    }

    proptest! {
        #[test]
        fn written_sizes_read_back(number: u64, bytes: bool) {
            let size = if bytes { Size::Bytes(number) } else { Size::Blocks(number) };
            prop_assert_eq!(size.to_string().parse::<Size>(), Ok(size));
        }

        #[test]
        fn written_durations_read_back(micros in 0..=u64::MAX / 3600) {
            let span = Duration::from_micros(micros);
            prop_assert_eq!(parse_seconds(&format_seconds(span)), Some(span));
        }

        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = parse_seconds(&text);
            let _ = text.parse::<Size>();
        }
    }
}
