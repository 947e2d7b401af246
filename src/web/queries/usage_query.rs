//! Parses the range, the filter and the cursor of a list of usage.

use super::day_range::DayRange;
use super::{paging, query};
use crate::application::usage::list::{Position, UsageFilter};
use crate::web::problem::Problem;
use actix_web::HttpRequest;
use tintype_storage::domain::time::Timestamp;

const NAMES: [&str; 3] = [DayRange::NAMES[0], DayRange::NAMES[1], "key"];

/// A page of a list of usage.
pub struct UsageQuery {
    pub filter: UsageFilter,
    pub limit: usize,
    pub after: Option<Position>,
}

/// `today` counts from 1970.
///
/// # Errors
/// 422 with every invalid parameter
pub fn from_request(request: &HttpRequest, today: i64) -> Result<UsageQuery, Problem> {
    let (mut range, mut key) = (DayRange::default(), None);
    let (limit, after) =
        paging::limit_and_cursor(request, &NAMES, parse_cursor, |name, value| match name {
            "key" => {
                key = Some(query::id(name, value)?);
                Ok(())
            }
            _ => range.take(name, value),
        })?;
    let days = range.days(today)?;
    Ok(UsageQuery {
        filter: UsageFilter { days, key },
        limit,
        after,
    })
}

/// The cursor of the page after this position.
pub fn cursor(last: &Position) -> String {
    let day = Timestamp::of_day(last.day).date();
    let model = (last.tier.as_str(), last.resolution.as_str());
    format!("{day}.{}.{}.{}", last.key, model.0, model.1)
}

fn parse_cursor(text: &str) -> Option<Position> {
    let mut parts = text.split('.');
    let mut part = || parts.next();
    let position = Position {
        day: Timestamp::parse(&format!("{}T00:00:00Z", part()?))?.day(),
        key: part()?.parse().ok()?,
        tier: part()?.parse().ok()?,
        resolution: part()?.parse().ok()?,
    };
    parts.next().is_none().then_some(position)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tintype_storage::domain::ids::KeyId;
    use tintype_storage::domain::tier::{Resolution, Tier};
    use uuid::Uuid;

    #[test]
    fn a_cursor_is_parsed_as_it_was_written() {
        let last = Position {
            day: 20_775,
            key: KeyId(Uuid::from_u128(7)),
            tier: Tier::Pro,
            resolution: Resolution::K4,
        };
        let text = cursor(&last);
        assert_eq!(
            text,
            "2026-11-18.00000000-0000-0000-0000-000000000007.pro.4K"
        );
        assert!(parse_cursor(&text) == Some(last));
        for wrong in ["", "x", &text[1..], &text[..50], &format!("{text}.x")] {
            assert!(parse_cursor(wrong).is_none(), "{wrong}");
        }
    }
}
