//! Mutation: from an example to a similar input.

use clearway_testkit::Random;

/// The random numbers of an input, and the changes drawn from them.
pub(crate) struct Mutator {
    random: Random,
}

/// Boundary values, at which programs often fail.
const EDGES: [u64; 12] =
    [0, 1, 7, 8, 127, 128, 255, 256, 32_767, 65_535, u32::MAX as u64, u64::MAX];

impl Mutator {
    pub(crate) fn new(seed: u64) -> Mutator {
        Mutator { random: Random::new(seed ^ 0x5851_F42D_4C95_7F2D) }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.random.next_u64()
    }

    /// Returns a number below `n`, which is not 0. By remainder, other than [`Random::below`]: the
    /// seeds of earlier findings must continue to give the same inputs.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// One of the examples, changed in one to sixteen places; occasionally only noise.
    pub(crate) fn mutate(&mut self, examples: &[Vec<u8>]) -> Vec<u8> {
        if examples.is_empty() || self.below(40) == 0 {
            let len = self.below(600);
            return (0..len).map(|_| self.next() as u8).collect();
        }
        let mut bytes = examples[self.below(examples.len())].clone();
        for _ in 0..=self.below(4) * self.below(5) {
            self.change(&mut bytes, examples);
        }
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>, examples: &[Vec<u8>]) {
        if bytes.is_empty() {
            bytes.push(self.next() as u8);
            return;
        }
        let at = self.below(bytes.len());
        match self.below(9) {
            0 | 1 => bytes[at] ^= 1 << self.below(8),
            2 => bytes[at] = self.next() as u8,
            3 => bytes[at] = bytes[at].wrapping_add(self.below(9) as u8).wrapping_sub(4),
            4 => {
                let edge = EDGES[self.below(EDGES.len())].to_le_bytes();
                let width = [1, 2, 4, 8][self.below(4)].min(bytes.len() - at);
                bytes[at..at + width].copy_from_slice(&edge[..width]);
            }
            5 => {
                // Copy a piece of the same input to another place.
                let len = self.below(bytes.len() - at) + 1;
                let from = self.below(bytes.len() - len + 1);
                bytes.copy_within(from..from + len, at);
            }
            6 => {
                // Copy a piece of another example at the same place: a torn mix.
                let other = &examples[self.below(examples.len())];
                let end = bytes.len().min(other.len());
                if at < end {
                    let len = self.below(end - at) + 1;
                    bytes[at..at + len].copy_from_slice(&other[at..at + len]);
                }
            }
            7 => {
                let len = (self.below(64) + 1).min(bytes.len() - at);
                bytes[at..at + len].fill([0, 0xFF][self.below(2)]);
            }
            _ => {
                let len = self.below(bytes.len() + 1);
                if self.below(8) == 0 {
                    bytes.truncate(len);
                } else {
                    bytes[at] = 0;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_stands_for_one_input() {
        let examples = [vec![1, 2, 3, 4, 5, 6, 7, 8], vec![9; 30]];
        for seed in 0..500 {
            let once = Mutator::new(seed).mutate(&examples);
            assert_eq!(once, Mutator::new(seed).mutate(&examples));
        }
        let inputs: std::collections::HashSet<_> =
            (0..500).map(|seed| Mutator::new(seed).mutate(&examples)).collect();
        assert!(inputs.len() > 300, "{} different inputs", inputs.len());
    }
}
