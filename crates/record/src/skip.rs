//! Reading a record without its series, which is most of it.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};
use slob_stats::Series;

use crate::interval::Interval;
use crate::model::Record;

const FIELD: &str = "series";

/// Reads a record whose series is passed over, unread: it comes out empty.
pub(crate) fn without_series<'de, D: Deserializer<'de>>(from: D) -> Result<Record, D::Error> {
    Record::deserialize(Skipping(from))
}

/// Hands a map on, with an empty series in the place of its own.
struct Skipping<D>(D);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Skipping<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(SkippingVisitor { visitor, of: PhantomData })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

struct SkippingVisitor<'de, V> {
    visitor: V,
    of: PhantomData<&'de ()>,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for SkippingVisitor<'de, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(f)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_map(SkippingMap { map, at_series: false })
    }
}

struct SkippingMap<A> {
    map: A,
    /// Whether the next value is the series.
    at_series: bool,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for SkippingMap<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        let Some(key) = self.map.next_key::<String>()? else { return Ok(None) };
        self.at_series = key == FIELD;
        seed.deserialize(key.into_deserializer()).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        if !self.at_series {
            return self.map.next_value_seed(seed);
        }
        self.map.next_value::<IgnoredAny>()?;
        let empty = serde_json::to_value(Series::<Interval>::new(0, 2)).map_err(A::Error::custom)?;
        seed.deserialize(empty).map_err(A::Error::custom)
    }
}
