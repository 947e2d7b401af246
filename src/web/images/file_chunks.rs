//! Streams a file of the local object store to a client.

use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream::try_unfold;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;

/// The memory of one download.
const CHUNK_BYTES: u64 = 64 * 1_024;

/// Reads a range of a file in chunks on the blocking pool, each only after the client has taken the
/// last one. A file that ends early is an error, so that the connection breaks and the client does
/// not take a truncated file for the whole.
pub(super) fn chunks(file: File, range: Range<u64>) -> impl Stream<Item = io::Result<Bytes>> {
    try_unfold((file, range), |(mut file, range)| async move {
        if range.is_empty() {
            return Ok(None);
        }
        let read = tokio::task::spawn_blocking(move || {
            let length = CHUNK_BYTES.min(range.end - range.start);
            let mut chunk = Vec::with_capacity(length as usize);
            file.seek(SeekFrom::Start(range.start))?;
            (&mut file).take(length).read_to_end(&mut chunk)?;
            if chunk.len() as u64 != length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let rest = range.start + length..range.end;
            Ok((Bytes::from(chunk), (file, rest)))
        });
        read.await.map_err(io::Error::other)?.map(Some)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::TryStreamExt;
    use std::io::Write;

    fn file_of(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    #[tokio::test]
    async fn a_range_is_read_in_chunks_of_limited_size() {
        let bytes: Vec<u8> = (0..200_000u32).map(|n| n as u8).collect();
        let pieces: Vec<Bytes> = chunks(file_of(&bytes), 1_000..199_999)
            .try_collect()
            .await
            .unwrap();
        assert!(pieces.iter().all(|piece| piece.len() as u64 <= CHUNK_BYTES));
        assert_eq!(pieces.concat(), bytes[1_000..199_999]);
    }

    #[tokio::test]
    async fn an_empty_part_has_no_pieces() {
        let pieces: Vec<Bytes> = chunks(file_of(b""), 0..0).try_collect().await.unwrap();
        assert!(pieces.is_empty());
    }

    #[tokio::test]
    async fn a_file_that_ends_early_is_an_error() {
        let outcome: io::Result<Vec<Bytes>> = chunks(file_of(b"short"), 0..6).try_collect().await;
        assert_eq!(outcome.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
