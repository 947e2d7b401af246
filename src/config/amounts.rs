//! Amounts of money: decimal strings, never floats.

use std::collections::BTreeMap;

use rust_decimal::Decimal;
use serde::Serializer;

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

/// The price factor of batches.
pub(super) fn factor(text: &str) -> Result<Decimal, String> {
    let expected = || "a number from \"0.01\" to \"1\" with up to 6 decimals".to_owned();
    let factor = amount(text).map_err(|_| expected())?;
    let least = Decimal::new(1, 2);
    match (least..=Decimal::ONE).contains(&factor) {
        true => Ok(factor),
        false => Err(expected()),
    }
}

pub(super) fn as_string<S: Serializer>(amount: &Decimal, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(amount)
}

pub(super) fn as_strings<S: Serializer>(
    amounts: &BTreeMap<String, Decimal>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(
        amounts
            .iter()
            .map(|(key, amount)| (key, amount.to_string())),
    )
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

    #[test]
    fn a_price_factor_is_between_one_hundredth_and_one() {
        for good in ["1", "1.000000", "0.5", "0.01", "0.333333"] {
            assert_eq!(factor(good).unwrap().to_string(), good);
        }
        for bad in [
            "0",
            "0.009999",
            "1.000001",
            "2",
            "-1",
            "0.3333333",
            "50%",
            "",
            ".5",
            "1e-1",
        ] {
            assert!(factor(bad).is_err(), "{bad:?}");
        }
    }
}
