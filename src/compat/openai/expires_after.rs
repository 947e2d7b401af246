//! The expiration policy of a file: a number of seconds after its creation.

use crate::compat::refusal::Refusal;
use std::ops::RangeInclusive;

/// One hour to 30 days.
const SECONDS: RangeInclusive<u32> = 3_600..=2_592_000;

/// Returns the seconds of the policy. `param` is its field name in messages.
///
/// # Errors
/// A member is missing or invalid.
pub fn read(param: &str, anchor: Option<&str>, seconds: Option<&str>) -> Result<u32, Refusal> {
    if anchor != Some("created_at") {
        let message = "must be `created_at`";
        return Err(Refusal::field(format!("{param}[anchor]"), message));
    }
    let seconds = seconds.and_then(|text| text.parse().ok());
    seconds.filter(|it| SECONDS.contains(it)).ok_or_else(|| {
        let (min, max) = (SECONDS.start(), SECONDS.end());
        let message = format!("must be a number of seconds from {min} to {max}");
        Refusal::field(format!("{param}[seconds]"), message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_expires_between_an_hour_and_30_days_after_its_creation() {
        let read = |anchor, seconds| read("expires_after", anchor, seconds);
        let anchor = Some("created_at");
        assert_eq!(read(anchor, Some("3600")), Ok(3_600));
        assert_eq!(read(anchor, Some("2592000")), Ok(2_592_000));
        for bad in [None, Some(""), Some("3599"), Some("2592001"), Some("1e4")] {
            let field = read(anchor, bad).unwrap_err().field;
            assert_eq!(field.as_deref(), Some("expires_after[seconds]"));
        }
        for bad in [None, Some("last_active_at")] {
            let field = read(bad, Some("3600")).unwrap_err().field;
            assert_eq!(field.as_deref(), Some("expires_after[anchor]"));
        }
    }
}
