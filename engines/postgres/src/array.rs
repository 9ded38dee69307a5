//! Arrays of integers in the binary form (PostgreSQL's `array_recv` and `array_send`), a batch at once.
//!
//! The library takes and gives them element by element, which costs half of a client's time beside cached reads.

use std::error::Error;

use bytes::BytesMut;
use postgres::types::{FromSql, IsNull, Kind, ToSql, Type, to_sql_checked};

/// Dimensions, flags, type of elements; length and lower bound of the only dimension.
const HEADER: usize = 20;
/// A length and eight bytes.
const ELEMENT: usize = 4 + 8;

#[derive(Debug)]
pub(crate) struct Sent<'a, T>(pub(crate) &'a [T]);

impl<T: Copy + Into<i64> + ToSql> ToSql for Sent<'_, T> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let Kind::Array(member) = kind.kind() else { return Err("no array".into()) };
        let length = i32::try_from(self.0.len())?;
        for word in [1, 0, member.oid(), length.cast_unsigned(), 1] {
            out.extend_from_slice(&word.to_be_bytes());
        }
        let (begin, bytes) = (out.len(), size_of::<T>());
        out.resize(begin + self.0.len() * (4 + bytes), 0);
        for (place, value) in out[begin..].chunks_exact_mut(4 + bytes).zip(self.0) {
            place[..4].copy_from_slice(&(bytes as u32).to_be_bytes());
            place[4..].copy_from_slice(&(*value).into().to_be_bytes()[8 - bytes..]);
        }
        Ok(IsNull::No)
    }

    fn accepts(kind: &Type) -> bool {
        <&[T] as ToSql>::accepts(kind)
    }

    to_sql_checked!();
}

/// Its elements are `bigint`, or `timestamptz`, which is microseconds since 2000. They stay in the answer's own memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Received<'a>(&'a [[u8; ELEMENT]]);

impl<'a> Received<'a> {
    pub(crate) fn values(self) -> impl ExactSizeIterator<Item = i64> + 'a {
        self.0.iter().map(|[_, _, _, _, value @ ..]| i64::from_be_bytes(*value))
    }
}

impl<'a> FromSql<'a> for Received<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        if raw.starts_with(&[0; 4]) {
            return Ok(Self(&[]));
        }
        let (elements, rest) = raw.get(HEADER..).unwrap_or(&[0]).as_chunks::<ELEMENT>();
        let is_whole = raw.get(12..16) == Some(&(elements.len() as u32).to_be_bytes()) && rest.is_empty();
        let is_plain = is_whole && raw.starts_with(&1_i32.to_be_bytes());
        // The length of NULL is -1.
        if is_plain && elements.iter().all(|element| element[..4] == 8_i32.to_be_bytes()) {
            return Ok(Self(elements));
        }
        Err("no array of numbers of eight bytes".into())
    }

    fn accepts(kind: &Type) -> bool {
        [Type::INT8_ARRAY, Type::TIMESTAMPTZ_ARRAY].contains(kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(kind: &Type, value: &dyn ToSql) -> BytesMut {
        let mut out = BytesMut::from(&b"before"[..]);
        assert!(matches!(value.to_sql_checked(kind, &mut out), Ok(IsNull::No)));
        out
    }

    #[test]
    fn arrays_are_sent_as_the_library_does() {
        let (small, large) = ([3_i16, -1, i16::MIN], [0_i64, -7, i64::MAX]);
        assert_eq!(bytes(&Type::INT2_ARRAY, &Sent(&small)), bytes(&Type::INT2_ARRAY, &small.to_vec()));
        assert_eq!(bytes(&Type::INT8_ARRAY, &Sent(&large)), bytes(&Type::INT8_ARRAY, &large.to_vec()));
        assert_eq!(bytes(&Type::INT8_ARRAY, &Sent::<i64>(&[])), bytes(&Type::INT8_ARRAY, &Vec::<i64>::new()));
        let refused = Sent(&large).to_sql_checked(&Type::INT4_ARRAY, &mut BytesMut::new());
        assert!(refused.is_err(), "another width");
    }

    #[test]
    fn what_is_sent_can_be_received_and_damage_is_refused() {
        let sent = bytes(&Type::INT8_ARRAY, &Sent(&[5_i64, -7])).split_off(6);
        let received = |raw: &[u8]| {
            let received = Received::from_sql(&Type::INT8_ARRAY, raw).ok()?;
            Some(received.values().collect::<Vec<_>>())
        };
        assert_eq!(received(&sent), Some(vec![5, -7]));
        assert_eq!(received(&[0; 12]), Some(vec![]), "an array without dimensions");
        assert_eq!(received(&bytes(&Type::INT8_ARRAY, &vec![Some(5_i64), None])[6..]), None);
        assert_eq!(received(&bytes(&Type::INT4_ARRAY, &vec![5_i32])[6..]), None);
        assert!((1..sent.len()).all(|end| received(&sent[..end]).is_none()));
    }
}
