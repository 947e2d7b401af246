//! `[billing]` and `[first_run]`, and amounts of money: decimal strings, never floats.

use std::collections::BTreeMap;

use rust_decimal::Decimal;
use serde::Serializer;
use serde::ser::SerializeMap;

use super::section::section;
use super::values::{accept_if, text};

section! {
    pub struct Billing {
        /// A label. It has no effect on prices.
        pub currency: String = text(label),
    }
}

fn label(text: &str) -> Result<String, String> {
    let is_valid = (1..=16).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
    accept_if(
        text,
        is_valid,
        "1 to 16 visible ASCII characters such as \"USD\"",
    )
}

section! {
    /// `[first_run]`: the initial content of an empty data directory.
    pub struct FirstRun {
        /// The balance of the account `default`.
        #[serde(serialize_with = "as_string")]
        pub balance: Decimal = text(amount),
    }
}

const MAX_DECIMALS: usize = 6;

/// An amount of at least 0 and less than a million, with up to 6 decimals: `"0.039"`.
pub(super) fn amount(text: &str) -> Result<Decimal, String> {
    let expected = || "an amount from \"0\" to \"999999.999999\" with up to 6 decimals".to_owned();
    let (whole, decimals) = match text.split_once('.') {
        Some((whole, decimals)) => (whole, Some(decimals)),
        None => (text, None),
    };
    // Checked by hand, because the parser of `Decimal` accepts more (`1_0`, `+1`, `.5`).
    let digits = |part: &str, most: usize| {
        (1..=most).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit())
    };
    if !digits(whole, 6) || !decimals.is_none_or(|part| digits(part, MAX_DECIMALS)) {
        return Err(expected());
    }
    text.parse().map_err(|_| expected())
}

pub(super) fn as_string<S: Serializer>(amount: &Decimal, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(amount)
}

pub(super) fn as_strings<S: Serializer>(
    amounts: &BTreeMap<String, Decimal>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(amounts.len()))?;
    for (key, amount) in amounts {
        map.serialize_entry(key, &amount.to_string())?;
    }
    map.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_bounds_and_six_decimals() {
        for good in ["0", "0.039", "100.00", "999999.999999", "0.000001"] {
            assert_eq!(amount(good).unwrap().to_string(), good);
        }
        let bad = [
            "",
            ".",
            "1.",
            ".5",
            "-1",
            "+1",
            "1e3",
            "1_0",
            "0.0000001",
            "1000000",
            "1,5",
            " 1",
            "NaN",
            "1.2.3",
            "١",
        ];
        for bad in bad {
            assert!(amount(bad).is_err(), "{bad:?}");
        }
    }
}
