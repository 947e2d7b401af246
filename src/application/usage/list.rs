//! Reads an account's usage in pages: one line per day, key, model and size, oldest first.

use crate::application::blocking::blocking;
use crate::application::core::Core;
use crate::application::error::Error;
use std::collections::HashMap;
use std::ops::{ControlFlow, RangeInclusive};
use tintype_api::Usage;
use tintype_storage::domain::daily_usage::UsageTotals;
use tintype_storage::domain::ids::{AccountId, KeyId};
use tintype_storage::domain::tier::{Resolution, Tier};
use tintype_storage::engine::Wait as _;
use tintype_storage::store::{Store, StoreError};
use uuid::Uuid;

pub struct UsageFilter {
    /// Days since 1970.
    pub days: RangeInclusive<i64>,
    /// `None` matches every key.
    pub key: Option<KeyId>,
}

/// The place of a line in the list.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub day: i64,
    pub key: KeyId,
    pub tier: Tier,
    pub resolution: Resolution,
}

/// The lines after a position, and the position of the last one if more follow.
pub async fn page(
    core: &Core,
    account: AccountId,
    filter: UsageFilter,
    limit: usize,
    after: Option<Position>,
) -> Result<(Vec<Usage>, Option<Position>), Error> {
    let store = core.store.clone();
    blocking(move || {
        let (found, next) = read(&store, account, &filter, limit, after)?;
        Ok::<_, StoreError>((with_names(&store, found)?, next))
    })
    .await
}

type Line = (Position, UsageTotals);

fn read(
    store: &Store,
    account: AccountId,
    filter: &UsageFilter,
    limit: usize,
    after: Option<Position>,
) -> Result<(Vec<Line>, Option<Position>), StoreError> {
    let first = (*filter.days.start(), KeyId(Uuid::nil()));
    let from = after.map_or(first, |it| first.max((it.day, it.key)));
    let (mut lines, mut next) = (Vec::<Line>::new(), None);
    let read = store.daily_usage_until(account, from, *filter.days.end(), |record, usage| {
        if filter.key.is_some_and(|it| it != record.key) {
            return ControlFlow::Continue(());
        }
        for it in usage.models {
            let position = Position {
                day: record.day,
                key: record.key,
                tier: it.tier,
                resolution: it.resolution,
            };
            if after.is_some_and(|after| position <= after) {
                continue;
            }
            if lines.len() == limit {
                next = lines.last().map(|(last, _)| *last);
                return ControlFlow::Break(());
            }
            lines.push((position, it.totals));
        }
        ControlFlow::Continue(())
    });
    read.wait()?;
    Ok((lines, next))
}

/// Adds the names of the keys, also of deleted ones.
fn with_names(store: &Store, lines: Vec<Line>) -> Result<Vec<Usage>, StoreError> {
    let mut names: HashMap<KeyId, Option<String>> = HashMap::new();
    for (Position { key, .. }, _) in &lines {
        if !names.contains_key(key) {
            let name = store.key_name(*key).wait()?;
            names.insert(*key, name.map(|it| it.name));
        }
    }
    let line = |(at, totals): Line| {
        let name = names.get(&at.key).cloned().flatten();
        Usage::new(at.day, (at.key, name), (at.tier, at.resolution), totals)
    };
    Ok(lines.into_iter().map(line).collect())
}
