//! The encoding of a group: a frame of 24 bytes, then its changes in order.
//!
//! | Bytes | Hold |
//! |---|---|
//! | 4 | `TTJ1` |
//! | 4 | length of the changes, little-endian as all numbers here |
//! | 8 | number of the group |
//! | 4 | CRC-32 of the salt of the file, the length, the number and the changes |
//! | 4 | zeros |
//!
//! A change is the length of the key (2 bytes), the length of the value (4 bytes; all ones: the key is deleted), the key and
//! the value. Because of the salt, leftovers of an earlier use of the file, or text that a caller put into a value, are not
//! mistaken for a group.

use super::GroupNumber;
use crate::engine::Writes;
use crc32fast::Hasher;
use std::ops::RangeInclusive;

const MAGIC: [u8; 4] = *b"TTJ1";
pub const FRAME_BYTES: usize = 24;
const REMOVED: u32 = u32::MAX;

/// Starts a group in an empty buffer: reserves the frame.
pub fn begin(buffer: &mut Vec<u8>) {
    buffer.clear();
    buffer.resize(FRAME_BYTES, 0);
}

pub fn push(buffer: &mut Vec<u8>, key: &[u8], value: Option<&[u8]>) {
    let key_length = u16::try_from(key.len()).expect("a key of this program is short");
    let value_length = value.map_or(REMOVED, |value| {
        u32::try_from(value.len()).expect("a value is bounded")
    });
    buffer.extend_from_slice(&key_length.to_le_bytes());
    buffer.extend_from_slice(&value_length.to_le_bytes());
    buffer.extend_from_slice(key);
    buffer.extend_from_slice(value.unwrap_or_default());
}

/// Fills in the frame.
pub fn seal(buffer: &mut [u8], number: GroupNumber, salt: u64) {
    let length = u32::try_from(buffer.len() - FRAME_BYTES).expect("a group is bounded");
    let checksum = checksum(&buffer[FRAME_BYTES..], length, number, salt);
    buffer[..4].copy_from_slice(&MAGIC);
    buffer[4..8].copy_from_slice(&length.to_le_bytes());
    buffer[8..16].copy_from_slice(&number.to_le_bytes());
    buffer[16..20].copy_from_slice(&checksum.to_le_bytes());
}

fn checksum(changes: &[u8], length: u32, number: GroupNumber, salt: u64) -> u32 {
    let mut hasher = Hasher::new();
    hasher.update(&salt.to_le_bytes());
    hasher.update(&length.to_le_bytes());
    hasher.update(&number.to_le_bytes());
    hasher.update(changes);
    hasher.finalize()
}

/// A group in a file.
pub struct Frame<'a> {
    pub number: GroupNumber,
    /// Still encoded.
    pub changes: &'a [u8],
}

impl Frame<'_> {
    /// The group's size in the file.
    pub fn bytes(&self) -> usize {
        FRAME_BYTES + self.changes.len()
    }
}

/// The frame, read before its checksum is computed.
///
/// Leftovers of an earlier use may contain any number of fake frames that a caller wrote into a text, each with a length of
/// megabytes: computing all checksums would take minutes. Texts contain no zero bytes, so a caller cannot fake the numbers and
/// the zeros.
pub struct FrameHeader {
    length: u32,
    number: GroupNumber,
    checksum: u32,
}

impl FrameHeader {
    /// Reads a frame from the start of `bytes`, if its number is among `numbers`.
    pub fn read(bytes: &[u8], numbers: &RangeInclusive<GroupNumber>) -> Option<Self> {
        let frame = bytes.get(..FRAME_BYTES)?;
        if frame[..4] != MAGIC || frame[20..] != [0; 4] {
            return None;
        }
        let head = Self {
            length: u32::from_le_bytes(frame[4..8].try_into().ok()?),
            number: u64::from_le_bytes(frame[8..16].try_into().ok()?),
            checksum: u32::from_le_bytes(frame[16..20].try_into().ok()?),
        };
        numbers.contains(&head.number).then_some(head)
    }
}

/// The whole group at the start of `bytes`, if its number is among `numbers`.
pub fn read(bytes: &[u8], numbers: RangeInclusive<GroupNumber>, salt: u64) -> Option<Frame<'_>> {
    let head = FrameHeader::read(bytes, &numbers)?;
    let changes = bytes[FRAME_BYTES..].get(..head.length as usize)?;
    let is_whole = checksum(changes, head.length, head.number, salt) == head.checksum;
    is_whole.then_some(Frame {
        number: head.number,
        changes,
    })
}

/// The next whole group at or after `from` with a number of at least `least`, and its offset.
pub fn find(
    bytes: &[u8],
    from: usize,
    least: GroupNumber,
    salt: u64,
) -> Option<(usize, Frame<'_>)> {
    // The gap cannot hold more groups than fit into it.
    let room = (bytes.len() - from.min(bytes.len())) / FRAME_BYTES;
    let most = least.saturating_add(room as GroupNumber);
    let mut at = from;
    while let Some(found) = memchr::memmem::find(bytes.get(at..)?, &MAGIC) {
        at += found;
        if let Some(frame) = read(&bytes[at..], least..=most, salt) {
            return Some((at, frame));
        }
        at += 1;
    }
    None
}

/// Decodes the changes of a group; `None` if they are malformed.
pub fn changes(mut encoded: &[u8]) -> Option<Writes> {
    let mut changes = Vec::new();
    while !encoded.is_empty() {
        let (head, rest) = encoded.split_at_checked(6)?;
        let key_length = u16::from_le_bytes(head[..2].try_into().ok()?);
        let value_length = u32::from_le_bytes(head[2..].try_into().ok()?);
        let (key, rest) = rest.split_at_checked(key_length.into())?;
        let (value, rest) = match value_length {
            REMOVED => (None, rest),
            length => {
                let (value, rest) = rest.split_at_checked(length as usize)?;
                (Some(value.to_vec()), rest)
            }
        };
        changes.push((key.to_vec(), value));
        encoded = rest;
    }
    Some(changes)
}
