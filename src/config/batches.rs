//! `[batches]`: limits and price of batches.

use rust_decimal::Decimal;
use std::time::Duration;

use super::billing::{amount, as_string};
use super::section::section;
use super::storage::days;
use super::values::{integer, text};

section! {
    pub struct Batches {
        /// Per batch.
        pub max_requests: usize = integer(1..=10_000),
        /// The price of an image in a batch is its single price times this.
        #[serde(serialize_with = "as_string")]
        pub price_factor: Decimal = text(factor),
        pub max_files_per_account: usize = integer(1..=10_000),
        /// Of all files of an account together.
        pub max_file_bytes_per_account: u64 = integer(1..=1_000_000_000_000),
        /// 0: uploaded files never expire.
        file_retention_days: u64 = integer(0..=36_500),
    }
}

impl Batches {
    /// `None`: uploaded files never expire.
    pub fn file_retention(&self) -> Option<Duration> {
        days(self.file_retention_days)
    }
}

fn factor(text: &str) -> Result<Decimal, String> {
    let expected = || "a number from \"0.01\" to \"1\" with up to 6 decimals".to_owned();
    let factor = amount(text).map_err(|_| expected())?;
    let least = Decimal::new(1, 2);
    match (least..=Decimal::ONE).contains(&factor) {
        true => Ok(factor),
        false => Err(expected()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
