//! Load shedding: refuses creations while more are in progress than can be committed in time.

use crate::application::error::{self, Error};
use crate::application::services::GenerationService;
use std::time::Duration;
use tintype_storage::domain::ids::AccountId;
use tokio::sync::Semaphore;
use tokio::time::sleep;

/// Delay of a refusal.
const PAUSE: Duration = Duration::from_millis(500);

/// Refuses a creation that would only wait. Approximate: concurrent calls may all pass.
///
/// Runs before the request is parsed. A refusal costs half as much as a creation, nearly all of it for HTTP, and immediate retries
/// would occupy the processors. So the refusal comes after a pause, during which the client cannot retry on its connection.
pub async fn check(generations: &GenerationService, account: AccountId) -> Result<(), Error> {
    let Some(refusal) = refusal(generations, account) else {
        return Ok(());
    };
    Box::pin(delay(generations)).await;
    Err(refusal)
}

async fn delay(generations: &GenerationService) {
    let mut stopping = generations.core.stopping.subscribe();
    tokio::select! {
        () = pause(&generations.limits.held_refusals) => {}
        _ = stopping.wait_for(|it| *it) => {}
    }
}

fn refusal(generations: &GenerationService, account: AccountId) -> Option<Error> {
    let max = generations.settings.config.jobs.max_creations_under_way;
    // One account cannot take all slots.
    let max_per_account = max.div_ceil(2);
    let accounts = generations.core.system.accounts();
    let all = accounts.in_flight();
    // Then no account can have as many.
    if all < max_per_account {
        return None;
    }
    if all >= max {
        return Some(error::overloaded());
    }
    (accounts.creations_in_flight_of(account) >= max_per_account).then(error::busy)
}

/// Delays a refusal, unless too many already wait.
async fn pause(slots: &Semaphore) {
    if let Ok(_slot) = slots.try_acquire() {
        sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::application::limits::call_limits::MAX_HELD_REFUSALS;
    use futures_util::FutureExt as _;
    use futures_util::future::join_all;
    use tokio::time::Instant;

    #[tokio::test(start_paused = true)]
    async fn a_bounded_number_of_refusals_waits_in_parallel() {
        let slots = Semaphore::new(MAX_HELD_REFUSALS);
        let began = Instant::now();
        let mut waiting = Box::pin(join_all((0..MAX_HELD_REFUSALS).map(|_| pause(&slots))));
        assert!(waiting.as_mut().now_or_never().is_none());
        pause(&slots).await;
        assert_eq!(began.elapsed(), Duration::ZERO, "there are too many");
        waiting.await;
        assert_eq!(began.elapsed(), PAUSE);
        pause(&slots).await;
        assert_eq!(began.elapsed(), PAUSE * 2, "there is room again");
    }

    #[tokio::test(start_paused = true)]
    async fn a_disconnect_frees_a_slot() {
        let slots = Semaphore::new(1);
        let mut waiting = Box::pin(pause(&slots));
        assert!(waiting.as_mut().now_or_never().is_none());
        assert_eq!(slots.available_permits(), 0);
        drop(waiting);
        assert_eq!(slots.available_permits(), 1);
    }
}
