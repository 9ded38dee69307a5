//! Damage that breaks readers: cut, lost, doubled and exchanged pieces, odd bytes, odd values.

use serde_json::{Value, json};

pub(super) use crate::common::Random;

/// A page must never hold it as it is.
pub(super) const SCRIPT: &str = "<script>alert(1)</script>";

const ODD: &str = "~0~-1~1~NaN~inf~1e308~-0.0~18446744073709551615~18446744073709551616~4294967295~9223372036854775807~\
    9999999999999999999999999999999999999999~0.0000000000000000000001~TRUE~null~\u{0}~\u{feff}~\
    \u{202e}abc~é\u{301}\u{1F600}~../../../../etc/passwd~'~\"~\\~%~%00~%ff~{}~[[[[~1x1~4096x4096~1T~\
    16777215T~1h~$(id)~a|b|c|~-009999-01-02T01:59:59Z~9999-12-30T22:00:00.999999999Z~\
    <script>alert(1)</script>~</script><!--";

/// Words of JSON.
pub(super) const JSON: &[&str] = &[
    "{", "}", "[", "]", ",", ":", "\"", "null", "1e999", "-1", "\\u0000", "\\ud800", "[[[[[[[[", "0,", "\n",
];

pub(super) fn odd(random: &mut Random) -> &'static str {
    let odd: Vec<&str> = ODD.split('~').collect();
    odd[random.index(odd.len())]
}

/// Damages one to six pieces; `words` are the format's own.
pub(super) fn bytes(original: &[u8], words: &[&str], random: &mut Random) -> Vec<u8> {
    let mut bytes = original.to_vec();
    for _ in 0..=random.index(6) {
        let at = random.index(bytes.len());
        let length = if random.one_in(4) { 200 } else { 12 };
        let end = (at + random.index(length)).min(bytes.len());
        match random.index(9) {
            0 if random.one_in(4) => bytes.truncate(at),
            0 | 1 => drop(bytes.drain(at..end)),
            2 => {
                let piece = bytes[at..end].to_vec();
                let to = random.index(bytes.len());
                bytes.splice(to..to, piece);
            }
            3 => drop(bytes.splice(at..end, odd(random).bytes())),
            4 => bytes[at..end].fill(b'9'),
            5 => drop(bytes.splice(at..at, random.of_these(words).bytes())),
            6 => drop(bytes.splice(at..at, [0xc3, 0xff, 0x00, b'<', 0x0c])),
            7 => bytes[at..end].iter_mut().for_each(|byte| *byte = byte.wrapping_add(13)),
            _ => {
                let (times, piece) = (random.index(300), bytes[at..end.min(at + 20)].to_vec());
                bytes.splice(at..at, piece.repeat(times));
            }
        }
        if bytes.is_empty() {
            break;
        }
    }
    bytes
}

pub(super) fn text(original: &str, words: &[&str], random: &mut Random) -> String {
    String::from_utf8_lossy(&bytes(original.as_bytes(), words, random)).into_owned()
}

/// Exchanges one to three values, so that it still reads as JSON.
pub(super) fn json(original: &Value, random: &mut Random) -> Value {
    let mut value = original.clone();
    for _ in 0..=random.index(3) {
        let place = somewhere(&mut value, random);
        *place = other(place, random);
    }
    value
}

/// Branch by branch, so that a long list is no likelier than a short field.
fn somewhere<'a>(value: &'a mut Value, random: &mut Random) -> &'a mut Value {
    let children = match value {
        Value::Array(items) => items.len(),
        Value::Object(fields) => fields.len(),
        _ => 0,
    };
    if children == 0 || random.one_in(12) {
        return value;
    }
    let chosen = random.index(children);
    match value {
        Value::Array(items) => somewhere(&mut items[chosen], random),
        Value::Object(fields) => somewhere(fields.values_mut().nth(chosen).unwrap(), random),
        _ => value,
    }
}

fn other(value: &Value, random: &mut Random) -> Value {
    match (value, random.index(8)) {
        (Value::Number(number), 0..7) if number.is_u64() => whole(random),
        (Value::Number(_), 0..7) => fraction(random),
        (Value::String(_), 0..7) => odd(random).into(),
        (Value::Bool(flag), 0..7) => Value::Bool(!flag),
        (Value::Array(items), 0..3) => {
            let most = random.index(70) * items.len();
            Value::Array(items.iter().cloned().cycle().take(most).collect())
        }
        (Value::Array(items), 3..6) => {
            let fewer = random.index(items.len());
            Value::Array(items.iter().rev().take(fewer).cloned().collect())
        }
        (Value::Object(fields), 0..4) => {
            let gone = random.index(fields.len());
            let kept = fields.iter().enumerate().filter(|(at, _)| *at != gone);
            Value::Object(kept.map(|(_, (name, value))| (name.clone(), value.clone())).collect())
        }
        _ => random
            .of_these(&[Value::Null, Value::Null, json!({}), json!([]), json!(false), json!("x")])
            .clone(),
    }
}

fn whole(random: &mut Random) -> Value {
    let any = random.next() >> random.index(64);
    let these = [0, 1, any, any, u64::from(u16::MAX), u64::from(u32::MAX), u64::MAX >> 1, u64::MAX];
    (*random.of_these(&these)).into()
}

fn fraction(random: &mut Random) -> Value {
    let any = f64::from_bits(random.next());
    let these = [0.0, -0.0, 0.5, -1.0, 1e-300, 1e308, -1e308, f64::MAX, f64::MIN_POSITIVE, any, any];
    json!(random.of_these(&these))
}
