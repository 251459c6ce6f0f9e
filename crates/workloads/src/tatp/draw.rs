//! The next transaction of a client: the transaction mix, the choice of subscribers, and everything
//! else that is random, drawn before the transaction starts, so that a retry does the same.

use std::{fmt, str::FromStr};

use clearway_testkit::Random;

use super::{
    population::{location, number},
    rows::{END_MAX, FORWARDING_LEN, START_STEP, STARTS, TYPES, forwarding_row},
};

/// A transaction type of TATP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TatpTransaction {
    /// Reads a row of SUBSCRIBER. Always successful.
    GetSubscriberData,
    /// Reads where calls go: an active facility and its forwardings at a time. Unsuccessful if
    /// there are none.
    GetNewDestination,
    /// Reads a row of ACCESS_INFO. Unsuccessful if there is none.
    GetAccessData,
    /// Writes bit_1 of a subscriber and data_a of a facility. Rolled back if the facility is
    /// missing.
    UpdateSubscriberData,
    /// Finds a subscriber by sub_nbr and writes its vlr_location. Always successful.
    UpdateLocation,
    /// Finds a subscriber by sub_nbr, reads its facilities and adds a forwarding. Rolled back if
    /// the facility is missing or the forwarding is there.
    InsertCallForwarding,
    /// Finds a subscriber by sub_nbr and deletes a forwarding. Unsuccessful if there is none.
    DeleteCallForwarding,
}

/// Number of transaction types.
pub(super) const KINDS: usize = 7;

impl TatpTransaction {
    /// All types, in the description's order.
    pub const ALL: [TatpTransaction; KINDS] = [
        TatpTransaction::GetSubscriberData,
        TatpTransaction::GetNewDestination,
        TatpTransaction::GetAccessData,
        TatpTransaction::UpdateSubscriberData,
        TatpTransaction::UpdateLocation,
        TatpTransaction::InsertCallForwarding,
        TatpTransaction::DeleteCallForwarding,
    ];

    /// Their names, in the order of [`ALL`](TatpTransaction::ALL).
    pub const NAMES: [&'static str; KINDS] = [
        "get-subscriber-data",
        "get-new-destination",
        "get-access-data",
        "update-subscriber-data",
        "update-location",
        "insert-call-forwarding",
        "delete-call-forwarding",
    ];

    /// Returns the number of transactions of this type among 100.
    pub fn percent(self) -> u64 {
        [35, 10, 35, 2, 14, 2, 2][self as usize]
    }

    /// The type's name.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

impl fmt::Display for TatpTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for TatpTransaction {
    type Err = String;

    fn from_str(text: &str) -> Result<TatpTransaction, String> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == text);
        found.ok_or_else(|| format!("{text:?} is none of {}", Self::NAMES.join(", ")))
    }
}

/// One transaction with all its values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Drawn {
    GetSubscriberData { subscriber: u32 },
    GetNewDestination { subscriber: u32, kind: u8, start: u8, end: u8 },
    GetAccessData { subscriber: u32, kind: u8 },
    UpdateSubscriberData { subscriber: u32, kind: u8, bit: bool, data: u8 },
    UpdateLocation { subscriber: u32, location: u32 },
    InsertCallForwarding { subscriber: u32, kind: u8, start: u8, row: [u8; FORWARDING_LEN] },
    DeleteCallForwarding { subscriber: u32, kind: u8, start: u8 },
}

impl Drawn {
    /// The transaction's type.
    #[inline]
    pub(super) fn transaction(&self) -> TatpTransaction {
        match self {
            Drawn::GetSubscriberData { .. } => TatpTransaction::GetSubscriberData,
            Drawn::GetNewDestination { .. } => TatpTransaction::GetNewDestination,
            Drawn::GetAccessData { .. } => TatpTransaction::GetAccessData,
            Drawn::UpdateSubscriberData { .. } => TatpTransaction::UpdateSubscriberData,
            Drawn::UpdateLocation { .. } => TatpTransaction::UpdateLocation,
            Drawn::InsertCallForwarding { .. } => TatpTransaction::InsertCallForwarding,
            Drawn::DeleteCallForwarding { .. } => TatpTransaction::DeleteCallForwarding,
        }
    }
}

/// Draws transactions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mix {
    subscribers: u64,
    /// The description's A.
    a: u64,
    only: Option<TatpTransaction>,
}

impl Mix {
    /// The standard mix over subscribers 1 to `subscribers`, or one type alone.
    pub(super) fn new(subscribers: u32, only: Option<TatpTransaction>) -> Mix {
        let a = match subscribers {
            ..=1_000_000 => 65_535,
            1_000_001..=10_000_000 => 1_048_575,
            _ => 2_097_151,
        };
        Mix { subscribers: u64::from(subscribers), a, only }
    }

    /// The next transaction.
    #[inline]
    pub(super) fn draw(&self, random: &mut Random) -> Drawn {
        let transaction = self.only.unwrap_or_else(|| pick(random));
        let subscriber = self.subscriber(random);
        match transaction {
            TatpTransaction::GetSubscriberData => Drawn::GetSubscriberData { subscriber },
            TatpTransaction::GetNewDestination => {
                let (kind, start, end) = (kind(random), start(random), end(random));
                Drawn::GetNewDestination { subscriber, kind, start, end }
            }
            TatpTransaction::GetAccessData => {
                Drawn::GetAccessData { subscriber, kind: kind(random) }
            }
            TatpTransaction::UpdateSubscriberData => {
                let (bit, data) = (random.below(2) == 1, random.below(1 << 8) as u8);
                Drawn::UpdateSubscriberData { subscriber, kind: kind(random), bit, data }
            }
            TatpTransaction::UpdateLocation => {
                Drawn::UpdateLocation { subscriber, location: location(random) }
            }
            TatpTransaction::InsertCallForwarding => {
                let (kind, start) = (kind(random), start(random));
                let row = forwarding_row(end(random), &number(random));
                Drawn::InsertCallForwarding { subscriber, kind, start, row }
            }
            TatpTransaction::DeleteCallForwarding => {
                Drawn::DeleteCallForwarding { subscriber, kind: kind(random), start: start(random) }
            }
        }
    }

    /// A subscriber by the description's non-uniform distribution:
    /// (random(0, A) | random(1, P)) % P + 1. The bits that A has are set more often than not.
    #[inline]
    fn subscriber(&self, random: &mut Random) -> u32 {
        let bits = random.below(self.a + 1) | (1 + random.below(self.subscribers));
        (bits % self.subscribers + 1) as u32
    }
}

/// A type by the standard mix.
#[inline]
fn pick(random: &mut Random) -> TatpTransaction {
    let mut left = random.below(100);
    for transaction in TatpTransaction::ALL {
        let percent = transaction.percent();
        if left < percent {
            return transaction;
        }
        left -= percent;
    }
    TatpTransaction::GetSubscriberData
}

#[inline]
fn kind(random: &mut Random) -> u8 {
    1 + random.below(u64::from(TYPES)) as u8
}

#[inline]
fn start(random: &mut Random) -> u8 {
    START_STEP * random.below(u64::from(STARTS)) as u8
}

#[inline]
fn end(random: &mut Random) -> u8 {
    1 + random.below(u64::from(END_MAX)) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mix_is_the_standard_one_and_sums_to_one_hundred() {
        let percents = TatpTransaction::ALL.map(TatpTransaction::percent);
        assert_eq!(percents, [35, 10, 35, 2, 14, 2, 2]);
        assert_eq!(percents.iter().sum::<u64>(), 100);
        let (mix, mut random, mut counts) = (Mix::new(1_000, None), Random::new(1), [0u32; KINDS]);
        (0..100_000).for_each(|_| counts[mix.draw(&mut random).transaction() as usize] += 1);
        for (count, percent) in counts.into_iter().zip(percents) {
            let share = f64::from(count) / 1_000.0;
            assert!((share - percent as f64).abs() < 0.5, "{share}, not {percent}");
        }
    }

    #[test]
    fn names_are_read_and_written_alike_and_one_type_can_be_had_alone() {
        for transaction in TatpTransaction::ALL {
            assert_eq!(transaction.to_string().parse(), Ok(transaction));
            let (mix, mut random) = (Mix::new(10, Some(transaction)), Random::new(2));
            assert!((0..100).all(|_| mix.draw(&mut random).transaction() == transaction));
        }
        assert!("update".parse::<TatpTransaction>().is_err());
    }

    #[test]
    fn a_follows_the_population() {
        for (subscribers, a) in [
            (1, 65_535),
            (1_000_000, 65_535),
            (1_000_001, 1_048_575),
            (10_000_000, 1_048_575),
            (10_000_001, 2_097_151),
        ] {
            assert_eq!(Mix::new(subscribers, None).a, a, "{subscribers}");
        }
    }

    /// Each of the 16 bits below A is set with chance 3/4 where the population is a power of two,
    /// so that the halves of the population are hit in the proportion 1 to 3, and again within.
    #[test]
    fn subscribers_are_in_range_and_not_uniform() {
        let (mix, mut random) = (Mix::new(1 << 16, None), Random::new(3));
        let mut upper = 0;
        for _ in 0..100_000 {
            let subscriber = mix.subscriber(&mut random);
            assert!((1..=1 << 16).contains(&subscriber));
            upper += u32::from(subscriber > 1 << 15);
        }
        let share = f64::from(upper) / 100_000.0;
        assert!((share - 0.75).abs() < 0.01, "{share}");
        assert_eq!(Mix::new(1, None).subscriber(&mut random), 1);
    }
}
