//! Work on large bodies, done on the blocking pool: the arbiter of the jobs has thousands of others to look after.

/// Does heavy work off the arbiter. A panic in it is carried on, so that it is told like any other panic of a run.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(join) if join.is_panic() => std::panic::resume_unwind(join.into_panic()),
        // Work is only given up with the runtime, and whoever waits for it here goes with that too.
        Err(_) => std::future::pending().await,
    }
}
