//! Runs work that blocks, such as long reads of the store, on a thread of the blocking pool.

use crate::application::error::{self, Error};
use std::any::Any;
use tokio::task::spawn_blocking;

/// # Errors
/// Those of `work`; `Internal` if it panics.
pub async fn blocking<T, E>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, Error>
where
    T: Send + 'static,
    E: Into<Error> + Send + 'static,
{
    // Without their types: Tokio's code for a task would otherwise be compiled again for each caller.
    let work: Box<dyn FnOnce() -> Box<dyn Any + Send> + Send> = Box::new(|| Box::new(work()));
    // The panic hook has logged the panic.
    let done = spawn_blocking(work).await.map_err(|_| error::internal())?;
    let done = done.downcast::<Result<T, E>>();
    done.map_err(|_| error::internal())?.map_err(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::application::error::ErrorKind;

    #[tokio::test]
    async fn a_panic_is_an_internal_error() {
        let done = blocking(|| -> Result<(), Error> { panic!("on purpose") }).await;
        assert_eq!(done.unwrap_err().kind, ErrorKind::Internal);
        let done = blocking(|| -> Result<(), Error> { Err(error::busy()) }).await;
        assert_eq!(done.unwrap_err().kind, ErrorKind::Overloaded);
        assert_eq!(blocking(|| Ok::<_, Error>(1)).await.unwrap(), 1);
    }
}
