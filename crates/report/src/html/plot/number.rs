//! Numbers of a drawing: as exact as an eye can see, and no longer.

use serde_json::{Number, Value};

/// A number to five significant digits; what is not finite is absent.
pub(crate) fn of(value: f64) -> Value {
    if value == 0.0 {
        return Value::from(0);
    }
    let rounded = format!("{value:.4e}").parse::<f64>();
    rounded.ok().and_then(Number::from_f64).map_or(Value::Null, short)
}

/// A number, or absent.
pub(crate) fn or_null(value: Option<f64>) -> Value {
    value.map_or(Value::Null, of)
}

/// Whole numbers without a fraction of zero.
fn short(number: Number) -> Value {
    match number.as_f64() {
        Some(value) if value.fract() == 0.0 && value.abs() < 1e15 => Value::from(value as i64),
        _ => Value::Number(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_digits_and_no_more() {
        let shown = |value| of(value).to_string();
        assert_eq!((shown(0.000_123_456_789), shown(29_706.44)), ("0.00012346".into(), "29706".into()));
        assert_eq!((shown(0.0), shown(1.0), shown(-2.5)), ("0".into(), "1".into(), "-2.5".into()));
        assert_eq!((of(f64::NAN), of(f64::INFINITY), or_null(None)), (Value::Null, Value::Null, Value::Null));
    }
}
