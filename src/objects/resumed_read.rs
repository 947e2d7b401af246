//! Reads an object over as many requests as it takes.
//!
//! The client of a cloud ends a request after its timeout, even if the store has sent everything and the reader is slow. The read then
//! continues with another request, for the bytes that are left. A request that brings no byte ends the read.

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use object_store::{GetResult, GetResultPayload, Result};
use std::ops::Range;

/// Continues the stream of an opened object after errors. `reopen` opens the object for a range.
pub(super) fn resume<F>(
    mut opened: GetResult,
    reopen: impl Fn(Range<u64>) -> F + Send + 'static,
) -> GetResult
where
    F: Future<Output = Result<GetResult>> + Send + 'static,
{
    // Without it, the object could be another one.
    let Some(e_tag) = opened.meta.e_tag.clone() else {
        return opened;
    };
    let rest = opened.range.clone();
    opened.payload = match opened.payload {
        GetResultPayload::Stream(bytes) => {
            let read = ResumedRead {
                bytes,
                rest,
                e_tag,
                reopen,
                has_progressed: true,
            };
            GetResultPayload::Stream(stream::try_unfold(read, ResumedRead::next).boxed())
        }
        file => file,
    };
    opened
}

struct ResumedRead<R> {
    bytes: BoxStream<'static, Result<Bytes>>,
    rest: Range<u64>,
    e_tag: String,
    reopen: R,
    /// Has the current request brought a byte? The first one has brought the head.
    has_progressed: bool,
}

impl<R, F> ResumedRead<R>
where
    R: Fn(Range<u64>) -> F,
    F: Future<Output = Result<GetResult>>,
{
    async fn next(mut self) -> Result<Option<(Bytes, Self)>> {
        loop {
            let error = match self.bytes.next().await {
                None => return Ok(None),
                Some(Ok(bytes)) => {
                    self.rest.start += bytes.len() as u64;
                    self.has_progressed |= !bytes.is_empty();
                    return Ok(Some((bytes, self)));
                }
                Some(Err(error)) => error,
            };
            if !self.has_progressed || self.rest.is_empty() {
                return Err(error);
            }
            let reopened = (self.reopen)(self.rest.clone()).await?;
            if reopened.meta.e_tag.as_ref() != Some(&self.e_tag) {
                return Err(error);
            }
            self.bytes = reopened.into_stream();
            self.has_progressed = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;
    use object_store::path::Path;
    use object_store::{Attributes, Error, Extensions, ObjectMeta};
    use parking_lot::Mutex;
    use std::sync::Arc;

    const IMAGE: &[u8] = b"0123456789";

    fn error() -> Error {
        Error::Generic {
            store: "test",
            source: "operation timed out".into(),
        }
    }

    /// An object whose requests each bring this many bytes, and then fail.
    fn opened(range: Range<u64>, bytes: usize, e_tag: &str) -> GetResult {
        let whole = &IMAGE[range.start as usize..range.end as usize];
        let part = &whole[..bytes.min(whole.len())];
        let mut chunks: Vec<Result<Bytes>> = part.chunks(2).map(|it| Ok(it.into())).collect();
        if part.len() < whole.len() {
            chunks.push(Err(error()));
        }
        GetResult {
            payload: GetResultPayload::Stream(stream::iter(chunks).boxed()),
            meta: ObjectMeta {
                location: Path::from("results/a.png"),
                last_modified: DateTime::UNIX_EPOCH,
                size: IMAGE.len() as u64,
                e_tag: Some(e_tag.to_owned()),
                version: None,
            },
            range,
            attributes: Attributes::new(),
            extensions: Extensions::new(),
        }
    }

    /// Reads the object, of which the first request brings 3 bytes, and each later one as many as given. Returns also where the later
    /// requests start.
    async fn read(bytes: usize, e_tag: &'static str) -> (Result<Bytes>, Vec<u64>) {
        let starts = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&starts);
        let reopen = move |rest: Range<u64>| {
            seen.lock().push(rest.start);
            async move { Ok(opened(rest, bytes, e_tag)) }
        };
        let read = resume(opened(0..10, 3, "a"), reopen).bytes().await;
        let starts = starts.lock().clone();
        (read, starts)
    }

    #[tokio::test]
    async fn a_reader_gets_the_whole_object_over_several_requests() {
        let (whole, starts) = read(4, "a").await;
        assert_eq!(whole.unwrap(), IMAGE);
        assert_eq!(starts, [3, 7]);
    }

    #[tokio::test]
    async fn a_store_that_sends_nothing_more_is_an_error() {
        let (broken, starts) = read(0, "a").await;
        assert!(broken.is_err());
        assert_eq!(starts, [3]);
    }

    #[tokio::test]
    async fn a_replaced_object_is_an_error() {
        let (broken, starts) = read(4, "b").await;
        assert!(broken.is_err());
        assert_eq!(starts, [3]);
    }
}
