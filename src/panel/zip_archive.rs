//! Writes a ZIP archive as a stream: the length of a file is known only at its end, and only the list of files is in memory. Files
//! are stored without compression, because images are already compressed.
//!
//! Existing libraries either need a seekable file or mark every file as ZIP64, which some unpackers reject. Here only an archive that
//! needs ZIP64 uses it (APPNOTE 6.3.10, section 4.3).

use crc32fast::Hasher;
use std::io;
use tintype_storage::domain::time::Timestamp;

const FILE: u32 = 0x0403_4b50;
const DESCRIPTOR: u32 = 0x0807_4b50;
const DIRECTORY_ENTRY: u32 = 0x0201_4b50;
const DIRECTORY_END: u32 = 0x0605_4b50;
const DIRECTORY_END_64: u32 = 0x0606_4b50;
const DIRECTORY_LOCATOR_64: u32 = 0x0706_4b50;
/// Length and checksum follow the file; the name is UTF-8.
const FLAGS: u16 = (1 << 3) | (1 << 11);
const VERSION: u16 = 20;
const VERSION_64: u16 = 45;

#[derive(Default)]
pub struct ZipArchive {
    files: Vec<File>,
    /// Bytes written so far.
    offset: u64,
    checksum: Hasher,
    length: u64,
}

struct File {
    name: String,
    /// MS-DOS date and time.
    at: [u16; 2],
    offset: u64,
    checksum: u32,
    length: u32,
}

impl ZipArchive {
    /// Begins a file and returns its header. The name must be unique.
    pub fn begin(&mut self, name: &str, at: Timestamp) -> Vec<u8> {
        let file = File {
            name: name.to_owned(),
            at: dos_time(at),
            offset: self.offset,
            checksum: 0,
            length: 0,
        };
        let mut head = Vec::with_capacity(30 + name.len());
        put32(&mut head, FILE);
        file.put_common(&mut head, VERSION);
        put16(&mut head, 0);
        head.extend(name.as_bytes());
        self.files.push(file);
        (self.checksum, self.length) = (Hasher::new(), 0);
        self.count(head)
    }

    /// Counts a chunk of the file. The caller sends the chunk unchanged.
    pub fn add(&mut self, piece: &[u8]) {
        self.checksum.update(piece);
        self.length += piece.len() as u64;
        self.offset += piece.len() as u64;
    }

    /// Ends the file and returns its data descriptor.
    ///
    /// # Errors
    /// The file has 4 GiB or more.
    pub fn end(&mut self) -> io::Result<Vec<u8>> {
        let too_long = |_| io::Error::other("a file of an archive is too long");
        let length = u32::try_from(self.length).map_err(too_long)?;
        let checksum = std::mem::take(&mut self.checksum).finalize();
        if let Some(file) = self.files.last_mut() {
            (file.checksum, file.length) = (checksum, length);
        }
        let mut tail = Vec::with_capacity(16);
        for value in [DESCRIPTOR, checksum, length, length] {
            put32(&mut tail, value);
        }
        Ok(self.count(tail))
    }

    /// Returns the central directory, which ends the archive.
    pub fn finish(self) -> Vec<u8> {
        let mut directory = Vec::new();
        for file in &self.files {
            file.put_entry(&mut directory);
        }
        let (count, size) = (self.files.len() as u64, directory.len() as u64);
        let is_large = count >= u64::from(u16::MAX)
            || size >= u64::from(u32::MAX)
            || self.offset >= u64::from(u32::MAX);
        if is_large {
            let end = self.offset + size;
            put32(&mut directory, DIRECTORY_END_64);
            put64(&mut directory, 44);
            put16(&mut directory, VERSION_64);
            put16(&mut directory, VERSION_64);
            put64(&mut directory, 0);
            for value in [count, count, size, self.offset] {
                put64(&mut directory, value);
            }
            put32(&mut directory, DIRECTORY_LOCATOR_64);
            put32(&mut directory, 0);
            put64(&mut directory, end);
            put32(&mut directory, 1);
        }
        put32(&mut directory, DIRECTORY_END);
        put32(&mut directory, 0);
        let count = u16::try_from(count).unwrap_or(u16::MAX);
        put16(&mut directory, count);
        put16(&mut directory, count);
        put32(&mut directory, u32_or_marker(size));
        put32(&mut directory, u32_or_marker(self.offset));
        put16(&mut directory, 0);
        directory
    }

    fn count(&mut self, bytes: Vec<u8>) -> Vec<u8> {
        self.offset += bytes.len() as u64;
        bytes
    }
}

impl File {
    /// The fields that a local header and a directory entry share.
    fn put_common(&self, bytes: &mut Vec<u8>, version: u16) {
        let stored = 0;
        for value in [version, FLAGS, stored, self.at[1], self.at[0]] {
            put16(bytes, value);
        }
        for value in [self.checksum, self.length, self.length] {
            put32(bytes, value);
        }
        // File names are shorter than 64 KiB.
        put16(bytes, u16::try_from(self.name.len()).unwrap_or(u16::MAX));
    }

    fn put_entry(&self, bytes: &mut Vec<u8>) {
        let offset = u32_or_marker(self.offset);
        let is_far = offset == u32::MAX;
        let version = if is_far { VERSION_64 } else { VERSION };
        put32(bytes, DIRECTORY_ENTRY);
        put16(bytes, version);
        self.put_common(bytes, version);
        put16(bytes, if is_far { 12 } else { 0 });
        // No comment, first disk, no attributes.
        for _ in 0..3 {
            put16(bytes, 0);
        }
        put32(bytes, 0);
        put32(bytes, offset);
        bytes.extend(self.name.as_bytes());
        if is_far {
            put16(bytes, 1);
            put16(bytes, 8);
            put64(bytes, self.offset);
        }
    }
}

/// The value, or the marker that the ZIP64 field holds it.
fn u32_or_marker(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// Date and time in UTC; the format covers the years 1980 to 2107.
fn dos_time(at: Timestamp) -> [u16; 2] {
    use chrono::{Datelike as _, Timelike as _};
    let at = at.to_datetime();
    let year = at.year().clamp(1980, 2107) - 1980;
    let number = |value: u32| u16::try_from(value).unwrap_or_default();
    let year = u16::try_from(year).unwrap_or_default();
    let date = (year << 9) | (number(at.month()) << 5) | number(at.day());
    let time = (number(at.hour()) << 11) | (number(at.minute()) << 5) | (number(at.second()) / 2);
    [date, time]
}

fn put16(bytes: &mut Vec<u8>, value: u16) {
    bytes.extend(value.to_le_bytes());
}

fn put32(bytes: &mut Vec<u8>, value: u32) {
    bytes.extend(value.to_le_bytes());
}

fn put64(bytes: &mut Vec<u8>, value: u64) {
    bytes.extend(value.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Cursor, Read as _};
    use zip::ZipArchive as Reader;

    fn at() -> Timestamp {
        Timestamp::parse("2026-03-04T05:06:08Z").unwrap()
    }

    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut archive = ZipArchive::default();
        let mut bytes = Vec::new();
        for (name, content) in files {
            bytes.extend(archive.begin(name, at()));
            for piece in content.chunks(3) {
                archive.add(piece);
                bytes.extend(piece);
            }
            bytes.extend(archive.end().unwrap());
        }
        bytes.extend(archive.finish());
        bytes
    }

    #[test]
    fn the_zip_crate_reads_the_archive() {
        let files: [(&str, &[u8]); 3] = [
            ("fox.png", b"a red fox"),
            ("F\u{fc}chse.png", b""),
            ("missing.txt", b"owl"),
        ];
        let mut read = Reader::new(Cursor::new(archive(&files))).unwrap();
        assert_eq!(read.len(), files.len());
        for (at, (name, content)) in files.iter().enumerate() {
            let mut file = read.by_index(at).unwrap();
            assert_eq!(file.name().unwrap(), *name);
            let time = file.last_modified().unwrap();
            let time = (
                time.year(),
                time.month(),
                time.day(),
                time.hour(),
                time.minute(),
                time.second(),
            );
            assert_eq!(time, (2026, 3, 4, 5, 6, 8));
            let mut text = Vec::new();
            // Reading to the end verifies the checksum.
            file.read_to_end(&mut text).unwrap();
            assert_eq!(text, *content);
        }
        assert_eq!(Reader::new(Cursor::new(archive(&[]))).unwrap().len(), 0);
    }

    #[test]
    fn more_than_65535_files_are_found() {
        let names: Vec<String> = (0..70_000).map(|at| format!("{at}.png")).collect();
        let files: Vec<(&str, &[u8])> = names.iter().map(|it| (it.as_str(), &b"x"[..])).collect();
        let mut read = Reader::new(Cursor::new(archive(&files))).unwrap();
        assert_eq!(read.len(), files.len());
        assert_eq!(read.by_name("69999.png").unwrap().size(), 1);
    }

    #[test]
    fn offsets_beyond_4_gib_use_zip64() {
        let mut archive = ZipArchive {
            offset: 5 << 30,
            ..ZipArchive::default()
        };
        archive.begin("far.png", at());
        archive.end().unwrap();
        let directory = archive.finish();
        let place = (5u64 << 30).to_le_bytes();
        let extra = [&[1, 0, 8, 0][..], &place].concat();
        assert!(directory.windows(extra.len()).any(|it| it == extra));
        assert!(
            directory
                .windows(4)
                .any(|it| it == DIRECTORY_END_64.to_le_bytes())
        );
    }
}
