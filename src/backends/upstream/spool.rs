//! Work on large bodies, done on the blocking pool: the arbiter of the jobs has thousands of others to look after.

use crate::decoding::{Leave, at_the_gate};
use tokio::task::JoinError;

/// Does heavy work off the arbiter. A panic in it is carried on, so that it is told like any other panic of a run.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    carried_on(tokio::task::spawn_blocking(work).await).await
}

/// The same for work that decodes pictures, of which few are in memory at a time.
pub async fn decoding<T: Send + 'static>(work: impl FnOnce(&Leave) -> T + Send + 'static) -> T {
    carried_on(at_the_gate(work).await).await
}

async fn carried_on<T>(outcome: Result<T, JoinError>) -> T {
    match outcome {
        Ok(done) => done,
        Err(join) if join.is_panic() => std::panic::resume_unwind(join.into_panic()),
        // Work is only given up with the runtime, and whoever waits for it here goes with that too.
        Err(_) => std::future::pending().await,
    }
}
