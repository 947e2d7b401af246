//! Reads the elements of a JSON array up to a limit.

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// The elements of a JSON array. Those beyond a limit are only counted, because a body may have millions of them.
pub struct Elements<'a> {
    pub first: Vec<&'a RawValue>,
    pub count: usize,
}

impl<'a> Elements<'a> {
    /// # Errors
    /// The text is not an array.
    pub fn read(array: &'a RawValue, max: usize) -> serde_json::Result<Self> {
        ElementsUpTo(max).deserialize(&mut serde_json::Deserializer::from_str(array.get()))
    }
}

struct ElementsUpTo(usize);

impl<'de> DeserializeSeed<'de> for ElementsUpTo {
    type Value = Elements<'de>;

    fn deserialize<D: Deserializer<'de>>(self, array: D) -> Result<Self::Value, D::Error> {
        array.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for ElementsUpTo {
    type Value = Elements<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Self::Value, A::Error> {
        let mut first = Vec::new();
        while first.len() < self.0 {
            match array.next_element()? {
                Some(element) => first.push(element),
                None => break,
            }
        }
        let mut count = first.len();
        while array.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok(Elements { first, count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_beyond_the_limit_are_only_counted() {
        let array: &RawValue = serde_json::from_str("[1, {}, [2], 3]").unwrap();
        for (max, kept) in [(0, 0), (3, 3), (4, 4), (9, 4)] {
            let Elements { first, count } = Elements::read(array, max).unwrap();
            assert_eq!((first.len(), count), (kept, 4));
        }
    }
}
