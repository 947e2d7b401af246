//! Streams a CSV file of any length.

use crate::application::blocking::blocking;
use crate::web::problem::{HttpResult, Problem};
use actix_web::http::header;
use actix_web::web::Bytes;
use actix_web::{HttpResponse, HttpResponseBuilder};
use futures_util::{StreamExt as _, stream};
use std::io;
use tintype_storage::store::StoreError;

/// Produces a file in parts.
pub trait CsvSource: Send + Sized + 'static {
    /// Names the content in errors.
    const CONTENT: &'static str;

    /// The lines of the next part, and the source of the rest; `None` at the end. Blocks.
    fn read(self) -> Result<(String, Option<Self>), StoreError>;
}

/// Responds with a file of this name: `head`, then all lines of the source.
///
/// # Errors
/// The first part cannot be read. If a later part cannot be read, the connection closes early.
pub async fn respond<S: CsvSource>(name: &str, head: &str, source: S) -> HttpResult {
    // The first part is read before the status is sent, so that a failing store is reported by a status.
    let (first, rest) = next(source).await?;
    let rest = stream::try_unfold(rest, |rest| async move {
        match rest {
            None => Ok(None),
            // The status is already sent: the client detects the incomplete file by the missing end of the body.
            Some(source) => match next(source).await {
                Ok((part, rest)) => Ok(Some((Bytes::from(part), rest))),
                Err(_) => {
                    let text = format!("could not read the whole {}", S::CONTENT);
                    Err(io::Error::other(text))
                }
            },
        }
    });
    // Without a byte order mark, Excel does not read UTF-8.
    let first = stream::iter([Ok(Bytes::from(format!("\u{feff}{head}{first}")))]);
    let disposition = format!("attachment; filename=\"{name}\"");
    let mut response: HttpResponseBuilder = HttpResponse::Ok();
    Ok(response
        .content_type("text/csv; charset=utf-8")
        .insert_header((header::CONTENT_DISPOSITION, disposition))
        .streaming(first.chain(rest)))
}

async fn next<S: CsvSource>(source: S) -> Result<(String, Option<S>), Problem> {
    Ok(blocking(move || source.read()).await?)
}
