//! Delivery (clause 2.7): a carrier takes the oldest undelivered order of each district.
//!
//! One transaction for the ten districts; those without undelivered orders are passed over.

use clearway_testkit::program::Operations;

use super::{
    DISTRICTS, Tables,
    access::{Scratch, inclusive, read_for_update},
    keys,
    random::between,
    rows::{customer, order, order_line},
    terminal::{Terminal, now},
};
use crate::store::Store;

/// A carrier's visit.
pub struct Delivery {
    pub(super) warehouse: u32,
    pub(super) carrier: u8,
    pub(super) date: i64,
}

impl Delivery {
    pub(super) fn draw(terminal: &mut Terminal) -> Delivery {
        let carrier = between(&mut terminal.random, 1, 10) as u8;
        Delivery { warehouse: terminal.warehouse, carrier, date: now() }
    }

    /// Returns the number of orders delivered.
    pub(super) fn perform<S: Store>(
        &self,
        tables: &Tables<S>,
        tx: &mut S::Tx<'_>,
        scratch: &mut Scratch,
    ) -> Result<i64, S::Error> {
        let mut delivered = 0;
        for district in 1..=DISTRICTS {
            if let Some(oldest) = self.take_oldest(tables, tx, district)? {
                self.deliver(tables, tx, district, oldest, &mut scratch.row)?;
                delivered += 1;
            }
        }
        Ok(delivered)
    }

    /// Removes a district's oldest new-order row and returns the order's number.
    fn take_oldest<S: Store>(
        &self,
        tables: &Tables<S>,
        tx: &mut S::Tx<'_>,
        district: u8,
    ) -> Result<Option<u32>, S::Error> {
        let low = keys::order(self.warehouse, district, 0);
        let high = keys::order(self.warehouse, district, u32::MAX);
        let mut oldest = None;
        tx.scan_for_update(&tables.new_order, inclusive(&low, &high), &mut |key, _| {
            oldest = Some(keys::last_number(key));
            false
        })?;
        if let Some(number) = oldest {
            tx.delete(&tables.new_order, &keys::order(self.warehouse, district, number))?;
        }
        Ok(oldest)
    }

    fn deliver<S: Store>(
        &self,
        tables: &Tables<S>,
        tx: &mut S::Tx<'_>,
        district: u8,
        number: u32,
        row: &mut Vec<u8>,
    ) -> Result<(), S::Error> {
        let key = keys::order(self.warehouse, district, number);
        read_for_update::<S>(tx, &tables.order, &key, row, "order")?;
        order::CARRIER.set(row, self.carrier);
        tx.update(&tables.order, &key, row)?;
        let (customer, lines) = (order::CUSTOMER.get(row), order::LINES.get(row));

        let mut amount = 0;
        for line in 1..=lines {
            let key = keys::order_line(self.warehouse, district, number, line);
            read_for_update::<S>(tx, &tables.order_line, &key, row, "order line")?;
            order_line::DELIVERY_DATE.set(row, self.date);
            amount += order_line::AMOUNT.get(row);
            tx.update(&tables.order_line, &key, row)?;
        }

        let key = keys::customer(self.warehouse, district, customer);
        read_for_update::<S>(tx, &tables.customer, &key, row, "customer")?;
        customer::BALANCE.add(row, amount);
        customer::DELIVERIES.add(row, 1);
        tx.update(&tables.customer, &key, row)
    }
}
