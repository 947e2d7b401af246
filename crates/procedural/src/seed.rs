//! Randomness that depends only on the request: no clock, no system source, and integer arithmetic.

use sha2::{Digest, Sha256};

/// A SplitMix64 stream. Small, and defined by its arithmetic, so it gives the same numbers on every machine.
#[derive(Debug, Clone)]
pub struct Seed(u64);

impl Seed {
    /// The stream for a prompt and its input images.
    pub fn of_request(prompt: &str, inputs: &[bytes::Bytes]) -> Self {
        let mut hash = Sha256::new();
        hash.update((prompt.len() as u64).to_le_bytes());
        hash.update(prompt.as_bytes());
        for input in inputs {
            hash.update((input.len() as u64).to_le_bytes());
            hash.update(input);
        }
        let digest = hash.finalize();
        let mut first = [0u8; 8];
        first.copy_from_slice(&digest[..8]);
        Self(u64::from_le_bytes(first))
    }

    /// An independent stream for one part of the image, so that a change in one part does not affect the others.
    pub fn branch(&self, part: u64) -> Self {
        Self(mix(self.0 ^ mix(part.wrapping_add(0x51_7C_C1))))
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// A number from 0 (included) to 1 (excluded), with 24 random bits, which `f32` holds exactly.
    pub fn unit(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / 16_777_216.0
    }

    /// A number from `low` to `high`.
    pub fn range(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.unit()
    }

    /// A whole number from 0 to `bound - 1`; 0 for a bound of 0.
    pub fn below(&mut self, bound: usize) -> usize {
        if bound == 0 {
            return 0;
        }
        (self.bits() % bound as u64) as usize
    }

    /// True with the given probability.
    pub fn chance(&mut self, probability: f32) -> bool {
        self.unit() < probability
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A hash of a lattice point, for noise.
pub fn lattice(seed: u32, x: i32, y: i32) -> f32 {
    let mut h = seed ^ (x as u32).wrapping_mul(0x9E37_79B1) ^ (y as u32).wrapping_mul(0x85EB_CA77);
    h = (h ^ (h >> 15)).wrapping_mul(0x2C1B_3C6D);
    h = (h ^ (h >> 12)).wrapping_mul(0x297A_2D39);
    h ^= h >> 15;
    (h >> 8) as f32 / 16_777_216.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_random_stream_of_a_request_is_reproducible() {
        let mut seed = Seed::of_request("a red fox in the snow", &[]);
        let first = [seed.bits(), seed.bits()];
        let mut again = Seed::of_request("a red fox in the snow", &[]);
        assert_eq!(first, [again.bits(), again.bits()]);
        assert_ne!(first[0], first[1]);
    }

    #[test]
    fn the_seed_depends_on_prompt_inputs_and_branch() {
        let one = bytes::Bytes::from_static(b"x");
        let plain = Seed::of_request("p", &[]).bits();
        assert_ne!(plain, Seed::of_request("q", &[]).bits());
        assert_ne!(
            plain,
            Seed::of_request("p", std::slice::from_ref(&one)).bits()
        );
        let base = Seed::of_request("p", &[]);
        assert_ne!(base.branch(1).bits(), base.branch(2).bits());
    }

    #[test]
    fn values_are_within_the_requested_range() {
        let mut seed = Seed::of_request("range", &[]);
        for _ in 0..10_000 {
            let value = seed.range(-2.0, 3.0);
            assert!((-2.0..3.0).contains(&value));
            assert!(seed.below(7) < 7);
        }
        assert_eq!(seed.below(0), 0);
    }
}
