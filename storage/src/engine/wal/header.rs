//! The header of a file: the number of its first group and the salt of its checksums. There are two copies, because the file is
//! unreadable without its header.

use super::GroupNumber;

const MAGIC: [u8; 8] = *b"ttjournl";
const COPY_BYTES: usize = 32;
/// The offset of the second copy: in another block of the disk.
const SECOND: usize = 4_096;
/// The offset of the first group.
pub const HEADER_BYTES: usize = 8_192;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub first: GroupNumber,
    /// Part of every checksum; different for each file.
    pub salt: u64,
}

impl Header {
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

    /// Decodes the header of the file whose first group is `first`, from either intact copy.
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
