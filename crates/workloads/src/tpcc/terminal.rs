//! A client: a terminal of one warehouse, and the parameters that it draws for its transactions.
//!
//! Everything random about a transaction is drawn here before it starts, its time included, so that
//! a retry does the same.

use std::time::{SystemTime, UNIX_EPOCH};

use clearway_testkit::Random;

use super::{
    DISTRICTS, TpccScale, TpccTransaction,
    access::{Scratch, Who},
    random::{Distributions, between, last_name},
};

/// One logical client: its terminal, its history sequence and its buffers.
pub struct TpccClient {
    pub(super) terminal: Terminal,
    pub(super) sequence: u32,
    /// The type of its last transaction.
    pub(super) last: Option<TpccTransaction>,
    pub(super) scratch: Scratch,
}

/// A terminal. It stays with its warehouse, and with its district where a transaction does not
/// draw one (clause 2.4.1.1 and its like).
pub(super) struct Terminal {
    pub(super) random: Random,
    pub(super) number: u32,
    pub(super) warehouse: u32,
    pub(super) district: u8,
    pub(super) scale: TpccScale,
    numbers: Distributions,
}

impl Terminal {
    pub(super) fn new(scale: TpccScale, load_constant: u32, seed: u64, number: u32) -> Terminal {
        let (warehouse, district) = place(scale.warehouses, number);
        Terminal {
            random: Random::stream(seed, u64::from(number)),
            number,
            warehouse,
            district,
            scale,
            numbers: Distributions::new(seed, load_constant, &scale),
        }
    }

    /// Any of the ten districts.
    pub(super) fn any_district(&mut self) -> u8 {
        between(&mut self.random, 1, u32::from(DISTRICTS)) as u8
    }

    /// Another warehouse than the terminal's own, if there is one.
    pub(super) fn other_warehouse(&mut self) -> u32 {
        let warehouses = self.scale.warehouses;
        if warehouses == 1 {
            return self.warehouse;
        }
        let others = u64::from(warehouses - 1);
        (self.warehouse + self.random.below(others) as u32) % warehouses + 1
    }

    pub(super) fn customer(&mut self) -> u32 {
        self.numbers.customer.pick(&mut self.random)
    }

    pub(super) fn item(&mut self) -> u32 {
        self.numbers.item.pick(&mut self.random)
    }

    /// A customer by last name in 60 of 100 cases, and else by number.
    pub(super) fn who(&mut self) -> Who {
        if self.random.chance(60) {
            Who::LastName(last_name(self.numbers.last_name.pick(&mut self.random)))
        } else {
            Who::Number(self.customer())
        }
    }
}

/// Warehouse and district of terminal `number`. Consecutive ones are at different warehouses, and
/// each round of them begins one further, so that the terminals that one thread serves, every
/// second or every eighth, are not all at the same warehouses.
fn place(warehouses: u32, number: u32) -> (u32, u8) {
    let round = number / warehouses;
    let warehouse = (number % warehouses + round % warehouses) % warehouses + 1;
    (warehouse, (round % u32::from(DISTRICTS)) as u8 + 1)
}

/// Microseconds since 1970.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_micros() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_are_spread_evenly_and_so_are_those_of_each_thread() {
        for (warehouses, threads) in [(1, 1), (2, 2), (4, 2), (3, 4)] {
            let mut counts = vec![0; warehouses as usize * threads];
            let mut places = std::collections::HashSet::new();
            for number in 0..warehouses * 10 {
                places.insert(place(warehouses, number));
            }
            assert_eq!(places.len() as u32, warehouses * 10, "each place once");
            for number in 0..240 {
                let (warehouse, _) = place(warehouses, number);
                counts[number as usize % threads * warehouses as usize + warehouse as usize - 1] +=
                    1;
            }
            assert!(counts.iter().all(|&count| count > 0), "{warehouses} {threads} {counts:?}");
        }
    }

    #[test]
    fn the_other_warehouse_is_another_and_may_be_any() {
        let mut terminal = Terminal::new(TpccScale::small(4), 0, 1, 2);
        let mut seen = [0; 5];
        (0..300).for_each(|_| seen[terminal.other_warehouse() as usize] += 1);
        for (warehouse, count) in seen.into_iter().enumerate().skip(1) {
            assert_eq!(count == 0, warehouse as u32 == terminal.warehouse, "{seen:?}");
        }
        assert_eq!(Terminal::new(TpccScale::small(1), 0, 1, 2).other_warehouse(), 1);
    }
}
