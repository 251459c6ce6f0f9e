//! Order-status (clause 2.6): a customer asks for the balance and the newest order.

use clearway_testkit::program::{Operations, ScanOrder};

use super::{
    Tables,
    access::{Scratch, Who, customer_number, inclusive, read},
    keys,
    rows::{customer, order, order_line},
    terminal::Terminal,
};
use crate::store::Store;

/// The parameters of an order-status transaction.
pub struct OrderStatus {
    pub(super) warehouse: u32,
    pub(super) district: u8,
    pub(super) who: Who,
}

impl OrderStatus {
    pub(super) fn draw(terminal: &mut Terminal) -> OrderStatus {
        let district = terminal.any_district();
        OrderStatus { warehouse: terminal.warehouse, district, who: terminal.who() }
    }

    /// Returns the customer's balance in cents.
    pub(super) fn perform<S: Store>(
        &self,
        tables: &Tables<S>,
        tx: &mut S::Tx<'_>,
        scratch: &mut Scratch,
    ) -> Result<i64, S::Error> {
        let home = (self.warehouse, self.district);
        let number = customer_number(tables, tx, home, &self.who, &mut scratch.numbers)?;
        let (row, key) = (&mut scratch.row, keys::customer(self.warehouse, self.district, number));
        read::<S>(tx, &tables.customer, &key, row, "customer")?;
        let balance = customer::BALANCE.get(row);
        if let Some(newest) = self.newest_order(tables, tx, number)? {
            let key = keys::order(self.warehouse, self.district, newest);
            read::<S>(tx, &tables.order, &key, row, "order")?;
            std::hint::black_box((order::ENTRY_DATE.get(row), order::CARRIER.get(row)));
            self.show_lines(tables, tx, newest)?;
        }
        Ok(balance)
    }

    /// The number of the customer's newest order. In a district with few orders there may be none.
    pub(super) fn newest_order<S: Store>(
        &self,
        tables: &Tables<S>,
        tx: &mut S::Tx<'_>,
        number: u32,
    ) -> Result<Option<u32>, S::Error> {
        let low = keys::customer_order(self.warehouse, self.district, number, 0);
        let high = keys::customer_order(self.warehouse, self.district, number, u32::MAX);
        let (bounds, mut newest) = (inclusive(&low, &high), None);
        tx.scan(&tables.customer_order, bounds, ScanOrder::Descending, &mut |key, _| {
            newest = Some(keys::last_number(key));
            false
        })?;
        Ok(newest)
    }

    /// Reads what a terminal would show of each line.
    fn show_lines<S: Store>(
        &self,
        tables: &Tables<S>,
        tx: &mut S::Tx<'_>,
        number: u32,
    ) -> Result<(), S::Error> {
        let low = keys::order_line(self.warehouse, self.district, number, 0);
        let high = keys::order_line(self.warehouse, self.district, number, u8::MAX);
        let bounds = inclusive(&low, &high);
        tx.scan(&tables.order_line, bounds, ScanOrder::Ascending, &mut |_, row| {
            std::hint::black_box((
                order_line::ITEM.get(row),
                order_line::SUPPLY_WAREHOUSE.get(row),
                order_line::QUANTITY.get(row),
                order_line::AMOUNT.get(row),
                order_line::DELIVERY_DATE.get(row),
            ));
            true
        })
    }
}
