//! A CSV file that is written while it is sent, however long it is.

use crate::application::error;
use crate::web::problem::Problem;
use actix_web::http::header;
use actix_web::web::{self, Bytes};
use actix_web::{HttpResponse, HttpResponseBuilder};
use futures_util::{StreamExt as _, stream};
use std::io;
use tintype_storage::store::StoreError;

/// What a file is read from, part by part.
pub trait CsvSource: Send + Sized + 'static {
    /// What the file holds.
    const WHAT: &'static str;

    /// The lines of the next part, and what is left to be read; `None` at the end. Blocks.
    ///
    /// # Errors
    /// The store fails.
    fn read(self) -> Result<(String, Option<Self>), StoreError>;
}

/// Answers with a file of this name: `head`, then all lines of the source.
///
/// # Errors
/// The first part could not be read. If a later one cannot, the file breaks off.
pub async fn answer<S: CsvSource>(
    name: &str,
    head: &str,
    source: S,
) -> Result<HttpResponse, Problem> {
    // Read before there is a status, so that a store that fails is told by one.
    let (first, rest) = next(source).await?;
    let rest = stream::try_unfold(rest, |rest| async move {
        match rest {
            None => Ok(None),
            // The status is out: the client sees by the missing end that the file is not whole.
            Some(source) => match next(source).await {
                Ok((part, rest)) => Ok(Some((Bytes::from(part), rest))),
                Err(_) => {
                    let text = format!("the {} could not be read to its end", S::WHAT);
                    Err(io::Error::other(text))
                }
            },
        }
    });
    let first = stream::iter([Ok(Bytes::from(format!("{head}{first}")))]);
    let disposition = format!("attachment; filename=\"{name}\"");
    let mut answer: HttpResponseBuilder = HttpResponse::Ok();
    Ok(answer
        .content_type("text/csv; charset=utf-8")
        .insert_header((header::CONTENT_DISPOSITION, disposition))
        .streaming(first.chain(rest)))
}

async fn next<S: CsvSource>(source: S) -> Result<(String, Option<S>), Problem> {
    let read = web::block(move || source.read());
    Ok(read.await.map_err(|_| error::busy())??)
}
