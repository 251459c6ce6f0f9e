//! New-order (clause 2.4): a customer orders 5 to 15 items, and stock is taken for each.
//!
//! One in a hundred has an unused item's number in its last line and is rolled back when it gets
//! there; one line in a hundred is supplied by another warehouse.

use clearway_testkit::program::{Operations, ProgramError};

use super::{
    LINES_MAX, LINES_MIN, Tables,
    access::{Scratch, missing, read, read_for_update},
    keys,
    random::{between, is_original},
    rows::{customer, district, item, order, order_line, stock, warehouse},
    terminal::{Terminal, now},
};
use crate::store::Store;

/// The parameters of a new order.
pub struct NewOrder {
    pub(super) warehouse: u32,
    pub(super) district: u8,
    pub(super) customer: u32,
    pub(super) date: i64,
    /// Whether the last item is unknown.
    pub(super) is_mistaken: bool,
    pub(super) line_count: u8,
    pub(super) lines: [Line; LINES_MAX as usize],
}

/// A line of an order.
#[derive(Clone, Copy, Default)]
pub(super) struct Line {
    pub(super) item: u32,
    pub(super) supply_warehouse: u32,
    pub(super) quantity: u8,
}

impl NewOrder {
    pub(super) fn draw(terminal: &mut Terminal) -> NewOrder {
        let (district, customer) = (terminal.any_district(), terminal.customer());
        let line_count = between(&mut terminal.random, LINES_MIN.into(), LINES_MAX.into()) as u8;
        let is_mistaken = terminal.random.chance(1);
        let mut lines = [Line::default(); LINES_MAX as usize];
        for line in &mut lines[..usize::from(line_count)] {
            line.item = terminal.item();
            let is_remote = terminal.random.chance(1);
            line.supply_warehouse =
                if is_remote { terminal.other_warehouse() } else { terminal.warehouse };
            line.quantity = between(&mut terminal.random, 1, 10) as u8;
        }
        if is_mistaken {
            lines[usize::from(line_count) - 1].item = terminal.scale.items + 1;
        }
        let (warehouse, date) = (terminal.warehouse, now());
        NewOrder { warehouse, district, customer, date, is_mistaken, line_count, lines }
    }

    fn lines(&self) -> &[Line] {
        &self.lines[..usize::from(self.line_count)]
    }

    /// Returns the order's total amount in cents, after discount and with taxes.
    pub(super) fn perform<S: Store>(
        &self,
        tables: &Tables<S>,
        tx: &mut S::Tx<'_>,
        scratch: &mut Scratch,
    ) -> Result<i64, S::Error> {
        let row = &mut scratch.row;
        let key = keys::warehouse(self.warehouse);
        read::<S>(tx, &tables.warehouse, &key, row, "warehouse")?;
        let mut tax = warehouse::TAX.get(row);

        let key = keys::district(self.warehouse, self.district);
        read_for_update::<S>(tx, &tables.district, &key, row, "district")?;
        tax += district::TAX.get(row);
        let number = district::NEXT_ORDER.get(row);
        district::NEXT_ORDER.set(row, number + 1);
        tx.update(&tables.district, &key, row)?;

        let key = keys::customer(self.warehouse, self.district, self.customer);
        read::<S>(tx, &tables.customer, &key, row, "customer")?;
        let discount = customer::DISCOUNT.get(row);

        self.insert_order(tables, tx, number)?;
        let mut total = 0;
        for (place, line) in (1..).zip(self.lines()) {
            total += self.insert_line(tables, tx, number, place, line, scratch)?;
        }
        let whole = 10_000;
        let due = (whole - i64::from(discount)) * (whole + i64::from(tax));
        Ok(total * due / (whole * whole))
    }

    fn insert_order<S: Store>(
        &self,
        tables: &Tables<S>,
        tx: &mut S::Tx<'_>,
        number: u32,
    ) -> Result<(), S::Error> {
        let mut row = [0; order::LEN];
        order::ENTRY_DATE.set(&mut row, self.date);
        order::CUSTOMER.set(&mut row, self.customer);
        order::LINES.set(&mut row, self.line_count);
        let is_local = self.lines().iter().all(|line| line.supply_warehouse == self.warehouse);
        order::ALL_LOCAL.set(&mut row, is_local.into());
        let key = keys::order(self.warehouse, self.district, number);
        tx.insert(&tables.order, &key, &row)?;
        let entry = keys::customer_order(self.warehouse, self.district, self.customer, number);
        tx.insert(&tables.customer_order, &entry, &[])?;
        tx.insert(&tables.new_order, &key, &[])
    }

    /// Takes a line's quantity from the stock and adds the line; returns its amount.
    fn insert_line<S: Store>(
        &self,
        tables: &Tables<S>,
        tx: &mut S::Tx<'_>,
        number: u32,
        place: u8,
        line: &Line,
        scratch: &mut Scratch,
    ) -> Result<i64, S::Error> {
        let key = keys::item(line.item);
        if !tx.get(&tables.item, &key, &mut scratch.item)? {
            let is_expected = self.is_mistaken && place == self.line_count;
            return Err(if is_expected {
                S::Error::rollback()
            } else {
                missing::<S>("item", &key)
            });
        }
        let amount = item::PRICE.get(&scratch.item) * i64::from(line.quantity);

        let (stock_row, key) = (&mut scratch.row, keys::stock(line.supply_warehouse, line.item));
        read_for_update::<S>(tx, &tables.stock, &key, stock_row, "stock")?;
        self.take(line, stock_row);
        tx.update(&tables.stock, &key, stock_row)?;

        // Shown at the terminal, "B" or "G", and stored nowhere.
        let is_brand =
            is_original(item::DATA.get(&scratch.item)) && is_original(stock::DATA.get(stock_row));
        std::hint::black_box(is_brand);

        let mut row = [0; order_line::LEN];
        order_line::AMOUNT.set(&mut row, amount);
        order_line::ITEM.set(&mut row, line.item);
        order_line::SUPPLY_WAREHOUSE.set(&mut row, line.supply_warehouse);
        order_line::QUANTITY.set(&mut row, line.quantity);
        order_line::DISTRICT_INFO.set(&mut row, stock::district_info(self.district).get(stock_row));
        let key = keys::order_line(self.warehouse, self.district, number, place);
        tx.insert(&tables.order_line, &key, &row)?;
        Ok(amount)
    }

    /// Takes a line's quantity from a stock row; one that would fall below ten is filled up by 91.
    fn take(&self, line: &Line, row: &mut [u8]) {
        let (left, quantity) = (stock::QUANTITY.get(row), u32::from(line.quantity));
        let refill = if left >= quantity + 10 { 0 } else { 91 };
        stock::QUANTITY.set(row, left + refill - quantity);
        stock::YTD.add(row, quantity);
        stock::ORDERS.add(row, 1);
        if line.supply_warehouse != self.warehouse {
            stock::REMOTE_ORDERS.add(row, 1);
        }
    }
}
