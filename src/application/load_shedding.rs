//! Load shedding: refuses creations while more are under way than can be committed in time.

use super::error::{self, Error};
use super::state::AppState;
use std::time::Duration;
use tintype_storage::domain::ids::AccountId;
use tokio::sync::Semaphore;
use tokio::time::sleep;

/// How long a refusal is held back.
const PAUSE: Duration = Duration::from_millis(500);

/// Refuses what would only wait, because more creations are under way than can be written down in time. A hint: calls that look at
/// the same moment all pass.
///
/// Asked before a request is parsed. A refusal still costs half of what a creation does, nearly all of it for HTTP, and callers
/// who try again at once would leave the processors little time for anything else. So they are told after a pause: on its connection
/// none of them can ask again before that.
pub async fn check(state: &AppState, account: AccountId) -> Result<(), Error> {
    let Some(refusal) = refusal(state, account) else {
        return Ok(());
    };
    let mut stopping = state.stopping.subscribe();
    tokio::select! {
        () = pause(&state.limits.held_refusals) => {}
        _ = stopping.wait_for(|it| *it) => {}
    }
    Err(refusal)
}

fn refusal(state: &AppState, account: AccountId) -> Option<Error> {
    let most = state.config.jobs.max_creations_under_way;
    // So that one account that floods the service leaves room to the others.
    let most_of_one = most.div_ceil(2);
    let accounts = state.system.accounts();
    let all = accounts.in_flight();
    // No account has more of them than there are.
    if all < most_of_one {
        return None;
    }
    if all >= most {
        return Some(error::overloaded());
    }
    (accounts.in_flight_of(account) >= most_of_one).then(error::busy)
}

/// Holds a refusal back; not at all when too many are already.
async fn pause(places: &Semaphore) {
    if let Ok(_place) = places.try_acquire() {
        sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::application::call_limits::MOST_HELD_REFUSALS;
    use futures_util::FutureExt as _;
    use futures_util::future::join_all;
    use tokio::time::Instant;

    #[tokio::test(start_paused = true)]
    async fn so_many_wait_side_by_side_and_no_more() {
        let places = Semaphore::new(MOST_HELD_REFUSALS);
        let began = Instant::now();
        let mut waiting = Box::pin(join_all((0..MOST_HELD_REFUSALS).map(|_| pause(&places))));
        assert!(waiting.as_mut().now_or_never().is_none());
        pause(&places).await;
        assert_eq!(began.elapsed(), Duration::ZERO, "there are too many");
        waiting.await;
        assert_eq!(began.elapsed(), PAUSE);
        pause(&places).await;
        assert_eq!(began.elapsed(), PAUSE * 2, "there is room again");
    }

    #[tokio::test(start_paused = true)]
    async fn one_who_leaves_makes_room() {
        let places = Semaphore::new(1);
        let mut waiting = Box::pin(pause(&places));
        assert!(waiting.as_mut().now_or_never().is_none());
        assert_eq!(places.available_permits(), 0);
        drop(waiting);
        assert_eq!(places.available_permits(), 1);
    }
}
