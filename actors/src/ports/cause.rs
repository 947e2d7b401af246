//! The operator's words about a failed try. A [`GenerateError`](super::GenerateError) is for the caller and names nothing of the
//! set-up; what happened at the backend is noted here, by the generator, while it runs.

use std::cell::RefCell;

tokio::task_local! {
    static CAUSE: RefCell<Option<String>>;
}

/// Notes what went wrong, for the operator. The last note of a try counts. Outside of a try nothing is noted.
pub fn note_cause(text: impl Into<String>) {
    let _ = CAUSE.try_with(|cause| cause.replace(Some(text.into())));
}

/// Runs one try. Returns what came of it, and what its generator noted.
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
        note_cause("outside");
        let first = with_cause(async {
            note_cause("one");
            tokio::task::yield_now().await;
            note_cause("two");
            7
        });
        let (first, second) = tokio::join!(first, with_cause(async { 8 }));
        assert_eq!(first, (7, Some("two".into())));
        assert_eq!(second, (8, None));
    }
}
