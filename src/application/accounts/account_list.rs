//! Lists of accounts that a read of all accounts answers: filtered, sorted, and with the number of accounts of each name.

use crate::application::blocking::blocking;
use crate::application::core::Core;
use crate::application::error::Error;
use crate::application::paging::Window;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use tintype_fair_semaphore::FairSemaphore;
use tintype_storage::domain::account::Account;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::{Page, StoreError};

/// Each list reads all accounts, so one is read at a time.
static PERMITS: LazyLock<FairSemaphore<()>> = LazyLock::new(|| FairSemaphore::new(1, 1));

#[derive(Clone, Copy, Default)]
pub enum Sort {
    #[default]
    Oldest,
    Name,
    LowestBalance,
    HighestBalance,
}

/// A page of the matching accounts.
pub struct MatchingAccounts {
    pub page: Page<Account>,
    /// The number of accounts of each name, also of accounts that do not match.
    pub names: HashMap<String, usize>,
}

/// Finds the accounts that match.
pub async fn find(
    core: &Arc<Core>,
    matches: impl Fn(&Account) -> bool + Send + 'static,
    sort: Sort,
    window: Window,
) -> Result<MatchingAccounts, Error> {
    let permit = PERMITS.acquire((), 1).await;
    let core = Arc::clone(core);
    blocking(move || {
        // The read itself releases the permit, because it continues after a disconnect.
        let _permit = permit;
        find_blocking(&core, matches, sort, window)
    })
    .await
}

fn find_blocking(
    core: &Core,
    matches: impl Fn(&Account) -> bool,
    sort: Sort,
    window: Window,
) -> Result<MatchingAccounts, StoreError> {
    let mut names = HashMap::new();
    let mut found = Vec::new();
    core.store
        .each_account(|account| {
            *names.entry(account.name.clone()).or_insert(0) += 1;
            if matches(&account) {
                found.push(account);
            }
            Ok(())
        })
        .wait()?;
    match sort {
        Sort::Oldest => {}
        Sort::Name => found.sort_by_cached_key(|it| it.name.to_lowercase()),
        Sort::LowestBalance => found.sort_by_key(|it| it.balances.balance),
        Sort::HighestBalance => found.sort_by_key(|it| Reverse(it.balances.balance)),
    }
    let start = window.after.map_or(0, |after| match sort {
        // The accounts are in the order of their ids, so the page is right even if the last one that was read matches no more.
        Sort::Oldest => found.partition_point(|it| *it.id.as_bytes() <= after),
        _ => {
            let last_read = found.iter().position(|it| *it.id.as_bytes() == after);
            last_read.map_or(0, |at| at + 1)
        }
    });
    let rest = found.len() - start;
    let items: Vec<Account> = found.into_iter().skip(start).take(window.limit).collect();
    let next = items.last().filter(|_| rest > window.limit);
    let next = next.map(|it| *it.id.as_bytes());
    Ok(MatchingAccounts {
        page: Page { items, next },
        names,
    })
}
