//! The cause of a failed attempt, for the operator. A [`GenerateError`](super::GenerateError) is for the caller and reveals nothing of the
//! configuration; the generator reports the backend's failure here while it runs.

use std::cell::RefCell;

tokio::task_local! {
    static CAUSE: RefCell<Option<String>>;
}

/// Sets the cause of the current attempt's failure. The last call of an attempt counts. Does nothing outside of an attempt.
pub fn set_cause(text: impl Into<String>) {
    let _ = CAUSE.try_with(|cause| cause.replace(Some(text.into())));
}

/// Runs one attempt. Returns its outcome, and the cause that its generator set.
pub(crate) async fn with_cause<T>(work: impl Future<Output = T>) -> (T, Option<String>) {
    let noted = async {
        let outcome = work.await;
        (outcome, CAUSE.with(RefCell::take))
    };
    CAUSE.scope(RefCell::default(), noted).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_try_has_its_own_last_note() {
        set_cause("outside");
        let first = with_cause(async {
            set_cause("one");
            tokio::task::yield_now().await;
            set_cause("two");
            7
        });
        let (first, second) = tokio::join!(first, with_cause(async { 8 }));
        assert_eq!(first, (7, Some("two".into())));
        assert_eq!(second, (8, None));
    }
}
