//! The population: everything that loading writes, as a function of s_id alone.
//!
//! That a subscriber can be drawn again at any time is what lets a load be split among threads, a
//! retried load write the same, and the check compare every column that no transaction changes.
//!
//! The rules are those of the TATP description, "Database population": one to four rows of
//! ACCESS_INFO and of SPECIAL_FACILITY, each number of them for a quarter of the subscribers, of
//! types that are chosen at random; none to three rows of CALL_FORWARDING for each facility, as
//! often each, with start times that are chosen at random; 85 of 100 facilities are active.

use clearway_testkit::Random;

use super::rows::{
    ACCESS_LEN, DIGITS, FACILITY_LEN, FORWARDING_LEN, HEX_AT, MSC_LOCATION_AT, START_STEP, STARTS,
    SUBSCRIBER_LEN, TYPES, digits, forwarding_row, write_bits, write_msc_location,
    write_vlr_location,
};

/// Facilities of 100 that are active.
const ACTIVE_PERCENT: u64 = 85;
/// A forwarding ends one to this many hours after it starts.
const HOURS_MAX: u64 = 8;
/// Numbers of [`DIGITS`] digits.
const NUMBERS: u64 = 10u64.pow(DIGITS as u32);
/// The seed of the population's random numbers.
const SEED: u64 = 0x7A79;

/// The set of rows of a subscriber; bit n of a set is type n + 1, or the start time 8 n.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    access: u8,
    facilities: u8,
    /// For each type of facility.
    forwardings: [u8; TYPES as usize],
}

impl Shape {
    /// The shape of subscriber `id`, and the random numbers that its columns come from.
    pub(super) fn draw(id: u32) -> (Shape, Random) {
        let mut random = Random::stream(SEED, u64::from(id));
        let count = 1 + random.below(u64::from(TYPES)) as u32;
        let access = subset(&mut random, TYPES, count);
        let count = 1 + random.below(u64::from(TYPES)) as u32;
        let facilities = subset(&mut random, TYPES, count);
        let forwardings = std::array::from_fn(|kind| {
            let count = random.below(u64::from(STARTS) + 1) as u32;
            let starts = subset(&mut random, STARTS, count);
            if facilities >> kind & 1 == 1 { starts } else { 0 }
        });
        (Shape { access, facilities, forwardings }, random)
    }

    /// Rows of all tables, the subscriber's own and the index's among them.
    pub(super) fn rows(&self) -> u64 {
        let forwardings: u32 = self.forwardings.iter().map(|starts| starts.count_ones()).sum();
        u64::from(2 + self.access.count_ones() + self.facilities.count_ones() + forwardings)
    }
}

/// A subscriber as it is loaded.
pub(super) struct Subscriber {
    shape: Shape,
    /// Its row.
    pub(super) row: [u8; SUBSCRIBER_LEN],
    access: [[u8; ACCESS_LEN]; TYPES as usize],
    facilities: [[u8; FACILITY_LEN]; TYPES as usize],
    forwardings: [[[u8; FORWARDING_LEN]; STARTS as usize]; TYPES as usize],
}

impl Subscriber {
    /// Draws subscriber `id`.
    pub(super) fn draw(id: u32) -> Subscriber {
        let (shape, mut random) = Shape::draw(id);
        let random = &mut random;
        Subscriber {
            shape,
            row: subscriber_row(id, random),
            access: std::array::from_fn(|_| access_row(random)),
            facilities: std::array::from_fn(|_| facility_row(random)),
            forwardings: std::array::from_fn(|_| {
                std::array::from_fn(|slot| {
                    let end = START_STEP * slot as u8 + 1 + random.below(HOURS_MAX) as u8;
                    forwarding_row(end, &number(random))
                })
            }),
        }
    }

    /// The rows of ACCESS_INFO, with their types.
    pub(super) fn access(&self) -> impl Iterator<Item = (u8, &[u8; ACCESS_LEN])> {
        members(self.shape.access, TYPES).map(|slot| (slot + 1, &self.access[usize::from(slot)]))
    }

    /// The rows of SPECIAL_FACILITY, with their types.
    pub(super) fn facilities(&self) -> impl Iterator<Item = (u8, &[u8; FACILITY_LEN])> {
        members(self.shape.facilities, TYPES)
            .map(|slot| (slot + 1, &self.facilities[usize::from(slot)]))
    }

    /// The rows of CALL_FORWARDING, with their types and start times.
    pub(super) fn forwardings(&self) -> impl Iterator<Item = (u8, u8, &[u8; FORWARDING_LEN])> {
        (0..TYPES).flat_map(move |kind| {
            let rows = &self.forwardings[usize::from(kind)];
            members(self.shape.forwardings[usize::from(kind)], STARTS)
                .map(move |slot| (kind + 1, slot * START_STEP, &rows[usize::from(slot)]))
        })
    }
}

/// The members of a set of numbers below `of`, in order.
fn members(set: u8, of: u8) -> impl Iterator<Item = u8> {
    (0..of).filter(move |member| set >> member & 1 == 1)
}

/// A random set of `count` numbers below `of`, every one as likely: each number is taken with the
/// chance that what is left to take has among what is left to ask.
fn subset(random: &mut Random, of: u8, count: u32) -> u8 {
    let (mut set, mut left) = (0, u64::from(count));
    for member in 0..of {
        if random.below(u64::from(of - member)) < left {
            set |= 1 << member;
            left -= 1;
        }
    }
    set
}

fn subscriber_row(id: u32, random: &mut Random) -> [u8; SUBSCRIBER_LEN] {
    let mut row = [0; SUBSCRIBER_LEN];
    row[..DIGITS].copy_from_slice(&digits(u64::from(id)));
    write_bits(&mut row, random.below(1 << 10) as u16);
    // Two hexadecimal digits to a byte, and bytes of their own.
    row[HEX_AT..MSC_LOCATION_AT].fill_with(|| random.below(1 << 8) as u8);
    write_msc_location(&mut row, location(random));
    write_vlr_location(&mut row, location(random));
    row
}

/// A msc_location or vlr_location: 1 to 2³² − 1.
#[inline]
pub(super) fn location(random: &mut Random) -> u32 {
    1 + random.below(u64::from(u32::MAX)) as u32
}

fn access_row(random: &mut Random) -> [u8; ACCESS_LEN] {
    let mut row = [0; ACCESS_LEN];
    row[..2].fill_with(|| random.below(1 << 8) as u8);
    row[2..].fill_with(|| letter(random));
    row
}

fn facility_row(random: &mut Random) -> [u8; FACILITY_LEN] {
    let mut row = [0; FACILITY_LEN];
    row[0] = u8::from(random.below(100) < ACTIVE_PERCENT);
    row[1..3].fill_with(|| random.below(1 << 8) as u8);
    row[3..].fill_with(|| letter(random));
    row
}

fn letter(random: &mut Random) -> u8 {
    b'A' + random.below(26) as u8
}

/// A random numberx.
#[inline]
pub(super) fn number(random: &mut Random) -> [u8; DIGITS] {
    digits(random.below(NUMBERS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subscriber_is_always_the_same_and_has_the_rows_of_its_shape() {
        for id in 1..=200 {
            let (one, two) = (Subscriber::draw(id), Subscriber::draw(id));
            assert_eq!((one.row, one.access), (two.row, two.access));
            let rows = 2 + one.access().count() + one.facilities().count();
            assert_eq!(one.shape.rows(), (rows + one.forwardings().count()) as u64);
            assert!((1..=4).contains(&one.access().count()));
            assert!((1..=4).contains(&one.facilities().count()));
            for (kind, _, _) in one.forwardings() {
                assert!(one.facilities().any(|(facility, _)| facility == kind));
            }
        }
        assert_ne!(Subscriber::draw(1).row, Subscriber::draw(2).row);
    }

    #[test]
    fn rows_are_as_frequent_as_the_description_says() {
        let subscribers: Vec<_> = (1..=20_000).map(Subscriber::draw).collect();
        let share = |count: &dyn Fn(&Subscriber) -> usize| {
            subscribers.iter().map(count).sum::<usize>() as f64 / 20_000.0
        };
        let near = |share: f64, wanted: f64| {
            assert!((share - wanted).abs() < wanted * 0.03, "{share}, not {wanted}");
        };
        near(share(&|s| s.access().count()), 2.5);
        near(share(&|s| s.facilities().count()), 2.5);
        near(share(&|s| s.forwardings().count()), 3.75);
        near(share(&|s| s.facilities().filter(|(_, row)| row[0] == 1).count()), 2.5 * 0.85);
        for kind in 1..=TYPES {
            near(share(&|s| s.access().filter(|(found, _)| *found == kind).count()), 0.625);
            near(share(&|s| s.facilities().filter(|(found, _)| *found == kind).count()), 0.625);
            for slot in 0..STARTS {
                let is_it = |found: u8, start| found == kind && start == slot * START_STEP;
                let count = |s: &Subscriber| {
                    s.forwardings().filter(|&(found, start, _)| is_it(found, start)).count()
                };
                near(share(&count), 0.3125);
            }
        }
        for (_, start, row) in subscribers.iter().flat_map(Subscriber::forwardings) {
            assert!((start + 1..=start + 8).contains(&row[0]));
        }
    }
}
