//! The head of a file: which group is its first, and the salt of its checksums. It stands there twice, for without it nothing
//! in the file can be read.

use super::GroupNumber;

const MAGIC: [u8; 8] = *b"ttjournl";
const COPY_BYTES: usize = 32;
/// Where the second copy stands: in another block of the disk.
const SECOND: usize = 4_096;
/// Where the first group begins.
pub const HEADER_BYTES: usize = 8_192;

/// The head of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The number of the file's first group.
    pub first: GroupNumber,
    /// Goes into every checksum: another one for each file.
    pub salt: u64,
}

impl Header {
    /// The head as it is written.
    pub fn encode(self) -> Vec<u8> {
        let mut copy = [0; COPY_BYTES];
        copy[..8].copy_from_slice(&MAGIC);
        copy[8..16].copy_from_slice(&self.first.to_le_bytes());
        copy[16..24].copy_from_slice(&self.salt.to_le_bytes());
        let checksum = crc32fast::hash(&copy[..24]);
        copy[24..28].copy_from_slice(&checksum.to_le_bytes());
        let mut bytes = vec![0; HEADER_BYTES];
        bytes[..COPY_BYTES].copy_from_slice(&copy);
        bytes[SECOND..SECOND + COPY_BYTES].copy_from_slice(&copy);
        bytes
    }

    /// The head of a file that begins with `bytes` and whose first group is `first`, from whichever copy is whole.
    pub fn decode(bytes: &[u8], first: GroupNumber) -> Option<Self> {
        let copy = |at: usize| {
            let copy = bytes.get(at..at + COPY_BYTES).and_then(Self::decode_copy);
            copy.filter(|header| header.first == first)
        };
        copy(0).or_else(|| copy(SECOND))
    }

    fn decode_copy(copy: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(u64::from_le_bytes(copy.get(at..at + 8)?.try_into().ok()?));
        let expected = u32::from_le_bytes(copy.get(24..28)?.try_into().ok()?);
        if copy[..8] != MAGIC || crc32fast::hash(&copy[..24]) != expected {
            return None;
        }
        Some(Self {
            first: number(8)?,
            salt: number(16)?,
        })
    }
}
