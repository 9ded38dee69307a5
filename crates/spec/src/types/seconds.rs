//! Spans of time as text: decimal seconds, or a number with s, m, h or d.

use std::fmt::Write as _;
use std::time::Duration;

const MICROS_PER_S: u64 = 1_000_000;
/// Microseconds are the finest: 6 digits after the point.
const MAX_DECIMALS: usize = 6;

/// Reads `300`, `.5`, `90s`, `15m`, `8h`, `1d` exactly, without floating point. `None` if it is not such a number,
/// has more than six decimals or does not fit.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    let (number, unit_s) = match text.chars().last()?.to_ascii_lowercase() {
        's' => (&text[..text.len() - 1], 1),
        'm' => (&text[..text.len() - 1], 60),
        'h' => (&text[..text.len() - 1], 3600),
        'd' => (&text[..text.len() - 1], 86_400),
        _ => (text, 1),
    };
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    let digits = whole.bytes().chain(decimals.bytes()).all(|byte| byte.is_ascii_digit());
    if !digits || whole.len() + decimals.len() == 0 || decimals.len() > MAX_DECIMALS {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let fraction_us: u64 = format!("{decimals:0<MAX_DECIMALS$}").parse().ok()?;
    let micros = whole.checked_mul(MICROS_PER_S)?.checked_add(fraction_us)?.checked_mul(unit_s)?;
    Some(Duration::from_micros(micros))
}

/// Writes decimal seconds, without needless zeros: `300`, `0.5`. Anything below a microsecond is cut off.
pub(crate) fn format(span: Duration) -> String {
    let mut text = span.as_secs().to_string();
    let micros = span.subsec_micros();
    if micros > 0 {
        // Writing to a String can't fail.
        let _ = write!(text, ".{micros:06}");
        text.truncate(text.trim_end_matches('0').len());
    }
    text
}

/// Serialises as a number of seconds; the field's name should end in `_s`.
pub(crate) fn serialize<S: serde::Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(span.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

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
    fn reads(#[case] text: &str, #[case] micros: u64) {
        assert_eq!(parse(text), Some(Duration::from_micros(micros)));
    }

    #[rstest]
    #[case("")]
    #[case(".")]
    #[case("h")]
    #[case("-1")]
    #[case("1e3")]
    #[case("1,5")]
    #[case("5 m")]
    #[case("0.0000001")]
    #[case("18446744073709551615")]
    #[case("5é")]
    fn refuses(#[case] text: &str) {
        assert_eq!(parse(text), None);
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(micros in 0..=u64::MAX / 3600) {
            let span = Duration::from_micros(micros);
            prop_assert_eq!(parse(&format(span)), Some(span));
        }

        #[test]
        fn any_text_is_an_answer(text in "\\PC*") {
            let _ = parse(&text);
        }
    }
}
