//! Money: exact decimals, never floats.

use rust_decimal::{Decimal, RoundingStrategy};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::fmt;
use std::str::FromStr;

/// Maximum number of digits after the point.
pub const SCALE: u32 = 6;
/// Exclusive limit of an amount in millionths. The sum of two amounts cannot overflow.
const LIMIT: u128 = 1_000_000_000_000_000 * MILLION;
const MILLION: u128 = 1_000_000;
/// A sign, 15 digits, the point and 6 digits.
const MAX_CHARS: usize = 23;

/// A signed amount of money with at most 6 digits after the point. The configuration names the currency.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Amount(Decimal);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    #[error("must be an amount such as \"12.50\"")]
    Malformed,
    #[error("must have at most 6 digits after the point")]
    TooFine,
    #[error("must be below 1,000,000,000,000,000")]
    TooLarge,
    #[error("must not be negative")]
    Negative,
}

impl Amount {
    pub const ZERO: Self = Self(Decimal::ZERO);

    /// Fails if the decimal has too many digits or is out of range.
    pub fn new(value: Decimal) -> Result<Self, AmountError> {
        let value = match value.scale() > SCALE {
            true => value.normalize(),
            false => value,
        };
        if value.scale() > SCALE {
            return Err(AmountError::TooFine);
        }
        let millionths = value.mantissa().unsigned_abs() * 10u128.pow(SCALE - value.scale());
        if millionths >= LIMIT {
            return Err(AmountError::TooLarge);
        }
        Ok(Self(value))
    }

    pub fn plus(self, other: Self) -> Result<Self, AmountError> {
        Self::new(self.0.checked_add(other.0).ok_or(AmountError::TooLarge)?)
    }

    pub fn minus(self, other: Self) -> Result<Self, AmountError> {
        Self::new(self.0.checked_sub(other.0).ok_or(AmountError::TooLarge)?)
    }

    /// The product, rounded away from zero to 6 digits after the point.
    pub fn times_rounded_up(self, factor: Decimal) -> Result<Self, AmountError> {
        let product = self.0.checked_mul(factor).ok_or(AmountError::TooLarge)?;
        Self::new(product.round_dp_with_strategy(SCALE, RoundingStrategy::AwayFromZero))
    }

    pub fn negated(self) -> Self {
        Self(-self.0)
    }

    pub fn is_negative(self) -> bool {
        self.0 < Decimal::ZERO
    }

    pub fn is_zero(self) -> bool {
        self.0.is_zero()
    }

    /// Millionths, the form on disk. Sums of millionths do not overflow.
    pub fn millionths(self) -> i128 {
        self.0.mantissa() * 10i128.pow(SCALE - self.0.scale())
    }

    /// Appends the amount as it is displayed.
    pub fn write_ascii(self, to: &mut Vec<u8>) {
        let (text, begin) = self.to_ascii();
        to.extend_from_slice(&text[begin..]);
    }

    /// The text at the end of a buffer, and where it begins.
    fn to_ascii(self) -> ([u8; MAX_CHARS], usize) {
        // Writes from the last digit to the first: every response has amounts, and `Decimal`'s formatting takes a third longer.
        let millionths = self.millionths();
        let size = millionths.unsigned_abs();
        let (mut whole, mut part) = ((size / MILLION) as u64, (size % MILLION) as u32);
        let mut text = [0; MAX_CHARS];
        let mut at = text.len();
        let mut put = |byte| {
            at -= 1;
            text[at] = byte;
        };
        let mut places = SCALE;
        while places > 2 && part % 10 == 0 {
            (part, places) = (part / 10, places - 1);
        }
        for _ in 0..places {
            put(b'0' + (part % 10) as u8);
            part /= 10;
        }
        put(b'.');
        while whole > 0 || places > 0 {
            put(b'0' + (whole % 10) as u8);
            (whole, places) = (whole / 10, 0);
        }
        if millionths < 0 {
            put(b'-');
        }
        (text, at)
    }

    fn from_millionths(millionths: i128) -> Result<Self, AmountError> {
        Self::new(
            Decimal::try_from_i128_with_scale(millionths, SCALE)
                .map_err(|_| AmountError::TooLarge)?,
        )
    }
}

impl fmt::Display for Amount {
    /// Writes two to six digits after the point: `12.00`, `0.039`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (text, begin) = self.to_ascii();
        f.write_str(std::str::from_utf8(&text[begin..]).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Amount {
    /// Equal amounts look equal, however they were computed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Amount").field(&self.0.normalize()).finish()
    }
}

impl FromStr for Amount {
    type Err = AmountError;

    /// Accepts plain decimal notation only: no exponent, separators or blanks.
    fn from_str(text: &str) -> Result<Self, AmountError> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
        let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !all_digits(whole) || !all_digits(fraction) {
            return Err(AmountError::Malformed);
        }
        if fraction.trim_end_matches('0').len() > SCALE as usize {
            return Err(AmountError::TooFine);
        }
        if whole.trim_start_matches('0').len() > 15 {
            return Err(AmountError::TooLarge);
        }
        let fraction = &fraction[..fraction.len().min(SCALE as usize)];
        let sign = if digits.len() < text.len() { "-" } else { "" };
        let value = Decimal::from_str_exact(&format!("{sign}{whole}.{fraction}"))
            .map_err(|_| AmountError::Malformed)?;
        Self::new(value)
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            serializer.serialize_i128(self.millionths())
        }
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            String::deserialize(deserializer)?
                .parse()
                .map_err(D::Error::custom)
        } else {
            Self::from_millionths(i128::deserialize(deserializer)?).map_err(D::Error::custom)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(text: &str) -> Amount {
        text.parse().unwrap()
    }

    #[test]
    fn money_is_written_with_two_to_six_decimals() {
        for (input, output) in [
            ("12", "12.00"),
            ("12.0", "12.00"),
            ("0.039", "0.039"),
            ("0.1", "0.10"),
            ("-5.5", "-5.50"),
            ("0.0000010", "0.000001"),
            ("-0", "0.00"),
            ("007.5", "7.50"),
        ] {
            assert_eq!(amount(input).to_string(), output, "{input}");
        }
    }

    #[test]
    fn hostile_40_amounts_are_exact_plain_decimals() {
        assert_eq!(amount("0.1").plus(amount("0.2")).unwrap(), amount("0.3"));
        for bad in [
            "", "-", ".", "1.", ".5", "1e3", "+1", " 1", "1 ", "1,000", "1_000", "NaN", "0x1",
            "１", "--1", "1.2.3",
        ] {
            assert_eq!(
                bad.parse::<Amount>(),
                Err(AmountError::Malformed),
                "{bad:?}"
            );
        }
        assert_eq!("0.0000001".parse::<Amount>(), Err(AmountError::TooFine));
        assert_eq!(
            "0.123456789012345678".parse::<Amount>(),
            Err(AmountError::TooFine)
        );
        assert_eq!(
            "1000000000000000".parse::<Amount>(),
            Err(AmountError::TooLarge)
        );
        assert_eq!(
            "9".repeat(5_000).parse::<Amount>(),
            Err(AmountError::TooLarge)
        );
        let most = amount("999999999999999.999999");
        assert_eq!(most.plus(amount("0.000001")), Err(AmountError::TooLarge));
        assert_eq!(
            most.negated().minus(amount("1")),
            Err(AmountError::TooLarge)
        );
    }

    #[test]
    fn a_part_of_a_price_is_rounded_up() {
        for (price, factor, part) in [
            ("0.039", "1", "0.039"),
            ("0.039", "0.5", "0.0195"),
            ("0.039", "0.333333", "0.013"),
            ("0.000001", "0.01", "0.000001"),
            ("0.101", "0.777777", "0.078556"),
            ("0", "0.01", "0.00"),
        ] {
            let scaled = amount(price).times_rounded_up(factor.parse().unwrap());
            assert_eq!(scaled.unwrap().to_string(), part, "{price} times {factor}");
        }
    }

    #[test]
    fn the_disk_form_keeps_every_digit() {
        for text in ["0", "0.000001", "-999999999999999.999999", "123.45"] {
            let bytes = postcard::to_stdvec(&amount(text)).unwrap();
            assert_eq!(
                postcard::from_bytes::<Amount>(&bytes).unwrap(),
                amount(text)
            );
        }
    }
}
