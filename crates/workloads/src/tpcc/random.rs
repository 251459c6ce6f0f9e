//! The specification's random numbers and texts (clauses 2.1.6, 4.3.2 and 4.3.3).

use clearway_testkit::Random;

use super::keys::NAME_LEN;

/// Last names are made of numbers up to this.
pub(super) const LAST_NAMES: u32 = 1_000;
/// The word that a tenth of the items and of the stock rows have in their data.
pub(super) const ORIGINAL: &[u8; 8] = b"ORIGINAL";

const SYLLABLES: [&[u8]; 10] =
    [b"BAR", b"OUGHT", b"ABLE", b"PRI", b"PRES", b"ESE", b"ANTI", b"CALLY", b"ATION", b"EING"];
const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// Uniform in `low..=high`.
#[inline]
pub(super) fn between(random: &mut Random, low: u32, high: u32) -> u32 {
    low + random.below(u64::from(high - low) + 1) as u32
}

/// A non-uniform distribution over `low..=high` (clause 2.1.6):
/// `((random(0, a) | random(low, high)) + c) % (high - low + 1) + low`.
#[derive(Clone, Copy)]
pub(super) struct NonUniform {
    a: u32,
    c: u32,
    low: u32,
    high: u32,
}

impl NonUniform {
    /// Of last names' numbers, of which a district has the first `customers`.
    pub(super) fn last_names(c: u32, customers: u32) -> NonUniform {
        NonUniform { a: LAST_NAME_A, c, low: 0, high: customers.clamp(1, LAST_NAMES) - 1 }
    }

    /// Of customers' numbers.
    pub(super) fn customers(c: u32, customers: u32) -> NonUniform {
        NonUniform { a: CUSTOMER_A, c, low: 1, high: customers }
    }

    /// Of items' numbers.
    pub(super) fn items(c: u32, items: u32) -> NonUniform {
        NonUniform { a: ITEM_A, c, low: 1, high: items }
    }

    #[inline]
    pub(super) fn pick(&self, random: &mut Random) -> u32 {
        let mixed = between(random, 0, self.a) | between(random, self.low, self.high);
        (mixed + self.c) % (self.high - self.low + 1) + self.low
    }
}

const LAST_NAME_A: u32 = 255;
const CUSTOMER_A: u32 = 1_023;
const ITEM_A: u32 = 8_191;

/// The constant with which last names are drawn for loading.
pub(super) fn load_constant(random: &mut Random) -> u32 {
    between(random, 0, LAST_NAME_A)
}

/// The distributions of a run. All clients of a run, which have one seed, have the same constants.
#[derive(Clone, Copy)]
pub(super) struct Distributions {
    pub(super) last_name: NonUniform,
    pub(super) customer: NonUniform,
    pub(super) item: NonUniform,
}

impl Distributions {
    /// For a run with `seed` on data whose last names were drawn with `load_constant`.
    pub(super) fn new(seed: u64, load_constant: u32, scale: &super::TpccScale) -> Distributions {
        let mut random = Random::stream(seed, u64::MAX);
        let customers = scale.customers_per_district;
        Distributions {
            last_name: NonUniform::last_names(run_constant(&mut random, load_constant), customers),
            customer: NonUniform::customers(between(&mut random, 0, CUSTOMER_A), customers),
            item: NonUniform::items(between(&mut random, 0, ITEM_A), scale.items),
        }
    }
}

/// A constant that is as far from loading's as clause 2.1.6.1 requires: by 65 to 119, but neither
/// by 96 nor by 112.
fn run_constant(random: &mut Random, load_constant: u32) -> u32 {
    loop {
        let c = between(random, 0, LAST_NAME_A);
        let delta = c.abs_diff(load_constant);
        if (65..=119).contains(&delta) && delta != 96 && delta != 112 {
            return c;
        }
    }
}

/// The last name of number `number` below 1,000: a syllable for each digit (clause 4.3.2.3).
#[inline]
pub(super) fn last_name(number: u32) -> [u8; NAME_LEN] {
    let (mut name, mut len) = ([b' '; NAME_LEN], 0);
    for digit in [number / 100, number / 10, number] {
        let syllable = SYLLABLES[digit as usize % 10];
        name[len..len + syllable.len()].copy_from_slice(syllable);
        len += syllable.len();
    }
    name
}

/// Fills `out` with random letters and digits.
pub(super) fn alphanumeric(random: &mut Random, out: &mut [u8]) {
    for chunk in out.chunks_mut(8) {
        for (place, byte) in chunk.iter_mut().zip(random.next_u64().to_le_bytes()) {
            *place = ALPHABET[usize::from(byte) * ALPHABET.len() / 256];
        }
    }
}

/// Random letters and digits, `low` to `LEN` of them, padded with spaces.
pub(super) fn text<const LEN: usize>(random: &mut Random, low: u32) -> [u8; LEN] {
    let (mut text, len) = ([b' '; LEN], between(random, low, LEN as u32));
    alphanumeric(random, &mut text[..len as usize]);
    text
}

/// Fills `out` with random digits.
pub(super) fn digits(random: &mut Random, out: &mut [u8]) {
    out.iter_mut().for_each(|place| *place = b'0' + random.below(10) as u8);
}

/// Appends `low..=high` random letters and digits to a row; a tenth of them, if `may_be_original`,
/// with the word [`ORIGINAL`] somewhere in it (clause 4.3.3.1).
pub(super) fn append(
    random: &mut Random,
    row: &mut Vec<u8>,
    low: u32,
    high: u32,
    may_be_original: bool,
) {
    let (start, len) = (row.len(), between(random, low, high) as usize);
    row.resize(start + len, 0);
    alphanumeric(random, &mut row[start..]);
    if may_be_original && random.chance(10) {
        let at = start + random.below((len - ORIGINAL.len() + 1) as u64) as usize;
        row[at..at + ORIGINAL.len()].copy_from_slice(ORIGINAL);
    }
}

/// Whether data have the word [`ORIGINAL`] in them.
#[inline]
pub(super) fn is_original(data: &[u8]) -> bool {
    data.windows(ORIGINAL.len()).any(|window| window == ORIGINAL)
}

/// A permutation of `1..=n`.
pub(super) fn permutation(random: &mut Random, n: u32) -> Vec<u32> {
    let mut numbers: Vec<u32> = (1..=n).collect();
    random.shuffle(&mut numbers);
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_names_are_those_of_the_specification() {
        assert_eq!(&last_name(371), b"PRICALLYOUGHT   ");
        assert_eq!(&last_name(0), b"BARBARBAR       ");
        assert_eq!(&last_name(777), b"CALLYCALLYCALLY ");
    }

    #[test]
    fn non_uniform_numbers_stay_in_range_and_favour_some() {
        let mut random = Random::new(5);
        let numbers = NonUniform::customers(259, 3_000);
        let mut counts = vec![0u32; 3_001];
        (0..300_000).for_each(|_| counts[numbers.pick(&mut random) as usize] += 1);
        assert_eq!(counts[0], 0);
        let mut sorted = counts[1..].to_vec();
        sorted.sort_unstable();
        let hottest: u32 = sorted.iter().rev().take(300).sum();
        assert!(hottest > 60_000, "a tenth of the customers have {hottest} of 300,000 picks");
        assert_eq!(NonUniform::customers(1_000, 1).pick(&mut random), 1);
    }

    #[test]
    fn a_runs_constant_keeps_its_distance_from_loadings() {
        let mut random = Random::new(6);
        for load in 0..=LAST_NAME_A {
            let delta = run_constant(&mut random, load).abs_diff(load);
            assert!((65..=119).contains(&delta) && delta != 96 && delta != 112, "{load} {delta}");
        }
    }

    #[test]
    fn a_tenth_is_original() {
        let (mut random, mut original) = (Random::new(7), 0);
        for _ in 0..10_000 {
            let mut row = b"ORIG".to_vec();
            append(&mut random, &mut row, 26, 50, true);
            assert!((30..=54).contains(&row.len()));
            original += u32::from(is_original(&row[4..]));
        }
        assert!((800..1_200).contains(&original), "{original}");
    }

    #[test]
    fn a_permutation_has_every_number_once() {
        let mut numbers = permutation(&mut Random::new(8), 3_000);
        assert_ne!(numbers[..10], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        numbers.sort_unstable();
        assert!(numbers.iter().copied().eq(1..=3_000));
    }
}
