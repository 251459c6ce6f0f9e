//! Payment (clause 2.5): a customer pays, in 15 of 100 cases at a warehouse other than the home
//! warehouse.

use clearway_testkit::program::Operations;

use super::{
    Tables,
    access::{Scratch, Who, customer_number, read_for_update},
    keys,
    random::between,
    rows::{customer, district, history, warehouse},
    terminal::{Terminal, now},
};
use crate::store::Store;

/// A payment.
pub struct Payment {
    pub(super) warehouse: u32,
    pub(super) district: u8,
    pub(super) customer_warehouse: u32,
    pub(super) customer_district: u8,
    pub(super) who: Who,
    pub(super) amount: i64,
    pub(super) date: i64,
    pub(super) history: [u8; 8],
}

impl Payment {
    pub(super) fn draw(terminal: &mut Terminal, sequence: u32) -> Payment {
        let (warehouse, district) = (terminal.warehouse, terminal.any_district());
        let (customer_warehouse, customer_district) =
            if terminal.scale.warehouses == 1 || terminal.random.chance(85) {
                (warehouse, district)
            } else {
                (terminal.other_warehouse(), terminal.any_district())
            };
        Payment {
            warehouse,
            district,
            customer_warehouse,
            customer_district,
            who: terminal.who(),
            amount: i64::from(between(&mut terminal.random, 100, 500_000)),
            date: now(),
            history: keys::history(terminal.number, sequence),
        }
    }

    /// Returns the customer's balance in cents.
    pub(super) fn perform<S: Store>(
        &self,
        tables: &Tables<S>,
        tx: &mut S::Tx<'_>,
        scratch: &mut Scratch,
    ) -> Result<i64, S::Error> {
        let row = &mut scratch.row;
        let key = keys::warehouse(self.warehouse);
        read_for_update::<S>(tx, &tables.warehouse, &key, row, "warehouse")?;
        warehouse::YTD.add(row, self.amount);
        let warehouse_name = warehouse::NAME.get(row);
        tx.update(&tables.warehouse, &key, row)?;

        let key = keys::district(self.warehouse, self.district);
        read_for_update::<S>(tx, &tables.district, &key, row, "district")?;
        district::YTD.add(row, self.amount);
        let district_name = district::NAME.get(row);
        tx.update(&tables.district, &key, row)?;

        let home = (self.customer_warehouse, self.customer_district);
        let number = customer_number(tables, tx, home, &self.who, &mut scratch.numbers)?;
        let key = keys::customer(self.customer_warehouse, self.customer_district, number);
        read_for_update::<S>(tx, &tables.customer, &key, row, "customer")?;
        let balance = self.settle(number, row);
        tx.update(&tables.customer, &key, row)?;

        let row = self.history_row(number, warehouse_name, district_name);
        tx.insert(&tables.history, &self.history, &row)?;
        Ok(balance)
    }

    /// Notes the payment in the customer's row; returns the balance.
    fn settle(&self, number: u32, row: &mut Vec<u8>) -> i64 {
        let balance = customer::BALANCE.add(row, -self.amount);
        customer::YTD_PAYMENT.add(row, self.amount);
        customer::PAYMENTS.add(row, 1);
        if customer::CREDIT.get(row) == customer::BAD_CREDIT {
            customer::DATA.prepend(row, &self.note(number), customer::DATA_LEN_MAX);
        }
        balance
    }

    /// The note of a payment by a customer with bad credit: customer, home district and warehouse,
    /// district and warehouse of the payment, and amount, in binary.
    fn note(&self, number: u32) -> [u8; 22] {
        let mut note = [0; 22];
        note[..4].copy_from_slice(&number.to_le_bytes());
        note[4] = self.customer_district;
        note[5..9].copy_from_slice(&self.customer_warehouse.to_le_bytes());
        note[9] = self.district;
        note[10..14].copy_from_slice(&self.warehouse.to_le_bytes());
        note[14..].copy_from_slice(&self.amount.to_le_bytes());
        note
    }

    fn history_row(
        &self,
        number: u32,
        warehouse: [u8; 10],
        district: [u8; 10],
    ) -> [u8; history::LEN] {
        let mut row = [0; history::LEN];
        history::DATE.set(&mut row, self.date);
        history::AMOUNT.set(&mut row, self.amount);
        history::CUSTOMER.set(&mut row, number);
        history::CUSTOMER_WAREHOUSE.set(&mut row, self.customer_warehouse);
        history::CUSTOMER_DISTRICT.set(&mut row, self.customer_district);
        history::WAREHOUSE.set(&mut row, self.warehouse);
        history::DISTRICT.set(&mut row, self.district);
        // Both names with four spaces between them.
        let mut data = [b' '; 24];
        data[..10].copy_from_slice(&warehouse);
        data[14..].copy_from_slice(&district);
        history::DATA.set(&mut row, data);
        row
    }
}
