//! Reads records from lines, one by one. Every line is checked, including the last one.

use super::line::{GivenUp, Header, Line, MAX_LINE_BYTES, Trailer};
use super::{ReadError, VERSION};
use crate::engine::{Key, MAX_VALUE_BYTES, Value};
use crate::store::tables::table_of;
use sha2::{Digest, Sha256};
use std::io::{BufRead, Read as _};

#[derive(Clone, Debug)]
pub struct Entry {
    /// The name of the record's table.
    pub kind: &'static str,
    pub key: Key,
    pub value: Value,
}

/// The totals of a complete export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    pub records: u64,
    pub bytes: u64,
}

pub struct Reader<R> {
    source: R,
    buffer: Vec<u8>,
    line: u64,
    bytes: u64,
    digest: Sha256,
    records: u64,
    last: Option<Key>,
    is_complete: bool,
}

impl<R: BufRead> Reader<R> {
    /// Reads the first line.
    ///
    /// # Errors
    /// The line does not begin an export of this format.
    pub fn new(source: R) -> Result<Self, ReadError> {
        let mut reader = Self {
            source,
            buffer: Vec::new(),
            line: 0,
            bytes: 0,
            digest: Sha256::new(),
            records: 0,
            last: None,
            is_complete: false,
        };
        if !reader.advance()? {
            return Err(reader.fault("it is empty"));
        }
        let Ok(header) = serde_json::from_slice::<Header>(&reader.buffer) else {
            return Err(reader.fault("this is not an export of Tintype"));
        };
        if header.tintype_export != VERSION {
            return Err(reader.fault(format!(
                "it has format {}, written by {}; this version reads format {VERSION}, so use a newer one",
                header.tintype_export,
                header.written_by.escape_debug(),
            )));
        }
        reader.digest.update(&reader.buffer);
        Ok(reader)
    }

    /// The next record; `None` at the end, after the count and the checksum were verified.
    ///
    /// # Errors
    /// See [`ReadError`]; each fault of the content names its line.
    pub fn read(&mut self) -> Result<Option<Entry>, ReadError> {
        if self.is_complete {
            return Ok(None);
        }
        if !self.advance()? {
            return Err(self.fault("it ends here, before its last line: it was cut off"));
        }
        // Take the buffer while its line is borrowed.
        let buffer = std::mem::take(&mut self.buffer);
        let outcome = self.parse_line(&buffer);
        self.buffer = buffer;
        outcome
    }

    /// `None` before the end was read.
    pub fn summary(&self) -> Option<Summary> {
        self.is_complete.then_some(Summary {
            records: self.records,
            bytes: self.bytes,
        })
    }

    /// The number of the last line read.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// `None` for the last line.
    fn parse_line(&mut self, buffer: &[u8]) -> Result<Option<Entry>, ReadError> {
        let Ok(line) = serde_json::from_slice::<Line<'_>>(buffer) else {
            return self.check_end(buffer).map(|()| None);
        };
        let entry = self.entry(&line)?;
        self.digest.update(buffer);
        self.records += 1;
        Ok(Some(entry))
    }

    fn entry(&mut self, line: &Line<'_>) -> Result<Entry, ReadError> {
        let key = hex::decode(line.key.as_bytes())
            .map_err(|_| self.fault("its key is not hexadecimal"))?;
        match &self.last {
            Some(last) if *last == key => {
                return Err(self.fault("it repeats the key of the line before"));
            }
            Some(last) if *last > key => {
                return Err(self.fault(
                    "its key comes before that of the line before: lines were moved or repeated",
                ));
            }
            _ => self.last = Some(key.clone()),
        }
        let kind = table_of(&key)
            .filter(|kind| kind.name() == line.kind && kind.is_exported())
            .ok_or_else(|| {
                let kind = line.kind.escape_debug();
                self.fault(format!(
                    "no record of the kind {kind} has such a key; if another version wrote the export, this version cannot import it"
                ))
            })?;
        let value = kind
            .parse_json(line.record.get())
            .map_err(|error| self.fault(error.to_string()))?;
        if value.len() > MAX_VALUE_BYTES {
            return Err(self.fault(format!(
                "its record is over the {MAX_VALUE_BYTES} bytes that a store takes"
            )));
        }
        Ok(Entry {
            kind: kind.name(),
            key,
            value,
        })
    }

    /// Checks the last line and that nothing follows it.
    fn check_end(&mut self, buffer: &[u8]) -> Result<(), ReadError> {
        if let Ok(given_up) = serde_json::from_slice::<GivenUp>(buffer) {
            let reason = given_up.given_up;
            return Err(self.fault(format!("the export was not completed: {reason}")));
        }
        let trailer: Trailer = serde_json::from_slice(buffer)
            .map_err(|_| self.fault("this is neither a record nor the last line: it is damaged"))?;
        if trailer.records != self.records {
            return Err(self.fault(format!(
                "it says {} records, but {} precede it",
                trailer.records, self.records
            )));
        }
        let found = hex::encode(std::mem::take(&mut self.digest).finalize());
        if trailer.sha256 != found {
            return Err(
                self.fault("the checksum does not match the lines before: one of them was changed")
            );
        }
        if !self.source.fill_buf()?.is_empty() {
            return Err(self.fault("more data follows the last line"));
        }
        self.is_complete = true;
        Ok(())
    }

    /// Reads a line with its line feed. `false` at the end of the source.
    fn advance(&mut self) -> Result<bool, ReadError> {
        self.buffer.clear();
        let most = MAX_LINE_BYTES as u64;
        let read = (&mut self.source)
            .take(most)
            .read_until(b'\n', &mut self.buffer)?;
        self.line += 1;
        if read == 0 {
            return Ok(false);
        }
        self.bytes += read as u64;
        if self.buffer.last() == Some(&b'\n') {
            return Ok(true);
        }
        Err(match read as u64 == most {
            true => self.fault(format!("it is longer than {MAX_LINE_BYTES} bytes")),
            false => self.fault("it ends in the middle of this line: it was cut off"),
        })
    }

    fn fault(&self, reason: impl Into<String>) -> ReadError {
        ReadError::Line {
            line: self.line,
            reason: reason.into(),
        }
    }
}
