//! Stock-level (clause 2.8): counts the items of a district's last twenty orders that run out.

use std::ops::Bound;

use clearway_testkit::program::{Operations, ScanOrder};

use super::{
    Tables,
    access::{Scratch, read},
    keys,
    random::between,
    rows::{district, order_line, stock},
    terminal::Terminal,
};
use crate::store::Store;

/// Number of orders examined.
const ORDERS: u32 = 20;

/// The parameters of a stock-level transaction.
pub struct StockLevel {
    pub(super) warehouse: u32,
    pub(super) district: u8,
    pub(super) threshold: u32,
}

impl StockLevel {
    pub(super) fn draw(terminal: &mut Terminal) -> StockLevel {
        let threshold = between(&mut terminal.random, 10, 20);
        StockLevel { warehouse: terminal.warehouse, district: terminal.district, threshold }
    }

    /// Returns the number of different items with less in stock than the threshold.
    pub(super) fn perform<S: Store>(
        &self,
        tables: &Tables<S>,
        tx: &mut S::Tx<'_>,
        scratch: &mut Scratch,
    ) -> Result<i64, S::Error> {
        let (row, items) = (&mut scratch.row, &mut scratch.numbers);
        let key = keys::district(self.warehouse, self.district);
        read::<S>(tx, &tables.district, &key, row, "district")?;
        let next = district::NEXT_ORDER.get(row);
        self.items(tables, tx, next, items)?;
        items.sort_unstable();
        items.dedup();
        let mut low = 0;
        for &item in items.iter() {
            let key = keys::stock(self.warehouse, item);
            read::<S>(tx, &tables.stock, &key, row, "stock")?;
            low += i64::from(stock::QUANTITY.get(row) < self.threshold);
        }
        Ok(low)
    }

    /// The items of the last orders before `next`.
    fn items<S: Store>(
        &self,
        tables: &Tables<S>,
        tx: &mut S::Tx<'_>,
        next: u32,
        items: &mut Vec<u32>,
    ) -> Result<(), S::Error> {
        let first = next.saturating_sub(ORDERS);
        let low = keys::order_line(self.warehouse, self.district, first, 0);
        let high = keys::order_line(self.warehouse, self.district, next, 0);
        let bounds = (Bound::Included(&low[..]), Bound::Excluded(&high[..]));
        // A retry starts over.
        items.clear();
        tx.scan(&tables.order_line, bounds, ScanOrder::Ascending, &mut |_, row| {
            items.push(order_line::ITEM.get(row));
            true
        })
    }
}
