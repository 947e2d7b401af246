//! Mutations of inputs, deterministic per seed, so that a failure is reproducible.

use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};

const MAX_BYTES: usize = 8_192;

/// Tokens that readers stumble over, inserted anywhere.
const WORDS: &[&[u8]] = &[
    b"\"",
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"null",
    b"-0",
    b"1e400",
    b"1e-7",
    b"1E21",
    b"9007199254740993",
    b"0.1",
    b"\r\n",
    b"\n",
    b"\r\n\r\n",
    b"--b\r\n",
    b"--b--\r\n",
    b"\0",
    b"\x7f",
    b"\xff",
    b"\xc0\x80",
    b"\xf0\x9f\x98\x80",
    b"%2f",
    b"%00",
    b"%25",
    b"&",
    b"=",
    b"?",
    b"#",
    b"@",
    b"..",
    b"/",
    b"//",
    b"127.1",
    b"[::1]",
    b"0x7f",
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff",
    b"\0\0\0\0",
    b"\0\0\0\x01",
    b"\x80\x80\x80\x80\x10",
    b"IEND",
    b"ftyp",
    b"Exif\0\0",
    b"\xff\xd9",
    b"\"prompt\":",
    b"\"data\":",
    b"filename=\"",
    b"name=\"image\"",
];

pub struct Mutation {
    chance: SmallRng,
    corpus: Vec<Vec<u8>>,
}

impl Mutation {
    pub fn new(seed: u64, corpus: Vec<Vec<u8>>) -> Self {
        Self {
            chance: SmallRng::seed_from_u64(seed),
            corpus,
        }
    }

    /// Returns an input of the corpus with one to eight changes.
    pub fn next(&mut self) -> Vec<u8> {
        let mut bytes = self.any();
        for _ in 0..self.chance.random_range(1..=8) {
            self.change(&mut bytes);
        }
        bytes.truncate(MAX_BYTES);
        bytes
    }

    fn any(&mut self) -> Vec<u8> {
        let at = self.chance.random_range(0..self.corpus.len());
        self.corpus[at].clone()
    }

    fn change(&mut self, bytes: &mut Vec<u8>) {
        let at = self.chance.random_range(0..=bytes.len());
        let to = (at + self.chance.random_range(0..=16)).min(bytes.len());
        match self.chance.random_range(0..8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << self.chance.random_range(0..8),
            1 if at < bytes.len() => bytes[at] = self.chance.random(),
            2 => drop(bytes.drain(at..to)),
            3 => bytes.truncate(at),
            4 => {
                // Repeats a range of bytes, near or far.
                let again = bytes[at..to].to_vec();
                let place = self.chance.random_range(0..=bytes.len());
                drop(bytes.splice(place..place, again));
            }
            5 => {
                let other = self.any();
                let from = self.chance.random_range(0..=other.len());
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
            _ => {
                let word = WORDS[self.chance.random_range(0..WORDS.len())];
                drop(bytes.splice(at..at, word.iter().copied()));
            }
        }
    }
}
