//! The transaction mix of a run.

use clearway_testkit::Random;

/// A transaction type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TpccTransaction {
    /// A customer orders 5 to 15 items.
    NewOrder,
    /// A customer pays.
    Payment,
    /// A customer asks for the newest order.
    OrderStatus,
    /// The oldest order of each of a warehouse's districts is delivered.
    Delivery,
    /// Items of a district's last orders that run out are counted.
    StockLevel,
}

/// The types' names, in the order of [`TpccTransaction::ALL`].
pub(super) const NAMES: [&str; 5] =
    ["new-order", "payment", "order-status", "delivery", "stock-level"];

impl TpccTransaction {
    /// All of them, in the specification's order.
    pub const ALL: [TpccTransaction; 5] = [
        TpccTransaction::NewOrder,
        TpccTransaction::Payment,
        TpccTransaction::OrderStatus,
        TpccTransaction::Delivery,
        TpccTransaction::StockLevel,
    ];

    /// Its name: `new-order`.
    pub fn name(self) -> &'static str {
        NAMES[self as usize]
    }
}

/// The transactions of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TpccMix {
    /// Of 100 transactions 45 new-orders, 43 payments and 4 of each other type: the least that
    /// clause 5.2.3 allows, and new-orders for the rest.
    Standard,
    /// Transactions of one type.
    Only(TpccTransaction),
}

impl TpccMix {
    #[inline]
    pub(super) fn pick(self, random: &mut Random) -> TpccTransaction {
        match self {
            TpccMix::Only(kind) => kind,
            TpccMix::Standard => match random.below(100) {
                0..45 => TpccTransaction::NewOrder,
                45..88 => TpccTransaction::Payment,
                88..92 => TpccTransaction::OrderStatus,
                92..96 => TpccTransaction::Delivery,
                _ => TpccTransaction::StockLevel,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_mix_has_the_standard_shares() {
        let (mut random, mut counts) = (Random::new(3), [0u32; 5]);
        (0..100_000).for_each(|_| counts[TpccMix::Standard.pick(&mut random) as usize] += 1);
        for (count, percent) in counts.into_iter().zip([45, 43, 4, 4, 4]) {
            assert!(count.abs_diff(percent * 1_000) < 600, "{counts:?}");
        }
    }

    #[test]
    fn types_and_names_have_one_order() {
        for (place, kind) in TpccTransaction::ALL.into_iter().enumerate() {
            assert_eq!((kind as usize, kind.name()), (place, NAMES[place]));
        }
    }
}
