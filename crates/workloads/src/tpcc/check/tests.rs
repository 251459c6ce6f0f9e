//! Each condition fails when its own invariant is broken, and no other condition does.

use clearway_testkit::program::Operations;

use crate::{
    ClearwayStore,
    store::Store,
    tpcc::{Tpcc, TpccMix, TpccScale, keys, rows, tests::loaded},
};

/// As few rows as possible, since they are loaded for each case.
const SCALE: TpccScale = TpccScale {
    warehouses: 2,
    items: 20,
    customers_per_district: 12,
    orders_per_district: 12,
    new_orders_per_district: 6,
};

/// Loads the data, applies `spoil` to them and compares the conditions that fail.
fn fails(conditions: &[u8], spoil: impl Fn(&Spoiler<'_>)) {
    let (store, tpcc) = loaded(SCALE, TpccMix::Standard);
    assert!(tpcc.check(&store, 1).unwrap().is_consistent());
    spoil(&Spoiler { store: &store, tpcc: &tpcc });
    let report = tpcc.check(&store, 2).unwrap();
    assert_eq!(report.failed(), conditions, "{report}");
    let text = report.to_string();
    assert!(text.contains(&format!("condition {} fails", conditions[0])), "{text}");
}

struct Spoiler<'a> {
    store: &'a ClearwayStore,
    tpcc: &'a Tpcc<ClearwayStore>,
}

type Table = <ClearwayStore as Store>::Table;

impl Spoiler<'_> {
    fn change(&self, table: &Table, key: &[u8], change: impl Fn(&mut Vec<u8>)) {
        let mut row = Vec::new();
        let changed = self.store.run("spoil", |tx| {
            assert!(tx.get_for_update(table, key, &mut row)?, "{key:?}");
            change(&mut row);
            tx.update(table, key, &row)
        });
        changed.unwrap();
    }

    fn insert(&self, table: &Table, key: &[u8], row: &[u8]) {
        self.store.run("spoil", |tx| tx.insert(table, key, row)).unwrap();
    }

    fn delete(&self, table: &Table, key: &[u8]) {
        self.store.run("spoil", |tx| tx.delete(table, key)).unwrap();
    }

    fn pay(&self, district: u8, amount: i64) {
        let key = keys::district(1, district);
        self.change(&self.tpcc.tables.district, &key, |row| {
            rows::district::YTD.add(row, amount);
        });
    }

    /// Changes the customer 1 of district 1 of warehouse 1.
    fn customer(&self, change: impl Fn(&mut Vec<u8>)) {
        self.change(&self.tpcc.tables.customer, &keys::customer(1, 1, 1), change);
    }

    fn order(&self, number: u32, change: impl Fn(&mut Vec<u8>)) {
        self.change(&self.tpcc.tables.order, &keys::order(1, 1, number), change);
    }

    /// A district's youngest order that is loaded as delivered; the next one is not.
    fn last_delivered(&self) -> u32 {
        self.tpcc.scale.delivered_per_district()
    }

    /// An order's number of lines and its customer.
    fn lines_and_customer(&self, number: u32) -> (u8, u32) {
        let mut row = Vec::new();
        let key = keys::order(1, 1, number);
        self.store.run("look", |tx| tx.get(&self.tpcc.tables.order, &key, &mut row)).unwrap();
        (rows::order::LINES.get(&row), rows::order::CUSTOMER.get(&row))
    }

    /// Marks all lines of an order as delivered, and makes another change to them.
    fn deliver_lines(&self, number: u32, change: impl Fn(&mut Vec<u8>)) {
        for line in 1..=self.lines_and_customer(number).0 {
            let key = keys::order_line(1, 1, number, line);
            self.change(&self.tpcc.tables.order_line, &key, |row| {
                rows::order_line::DELIVERY_DATE.set(row, 1);
                change(row);
            });
        }
    }
}

/// A payment in a district by a customer of warehouse 1, district 1.
fn payment(district: u8, customer: u32, amount: i64) -> Vec<u8> {
    let mut row = vec![0; rows::history::LEN];
    rows::history::AMOUNT.set(&mut row, amount);
    rows::history::CUSTOMER.set(&mut row, customer);
    rows::history::CUSTOMER_WAREHOUSE.set(&mut row, 1);
    rows::history::CUSTOMER_DISTRICT.set(&mut row, 1);
    rows::history::WAREHOUSE.set(&mut row, 1);
    rows::history::DISTRICT.set(&mut row, district);
    row
}

#[test]
fn condition_1_warehouse_and_its_districts() {
    fails(&[1], |data| {
        // Paid in a district that does not exist: warehouse and history still agree.
        data.pay(1, -1_000);
        let key = keys::loaded_history(1, 1, 1);
        data.change(&data.tpcc.tables.history, &key, |row| rows::history::DISTRICT.set(row, 11));
    });
}

#[test]
fn condition_2_next_order_and_newest_order() {
    fails(&[2], |data| {
        data.change(&data.tpcc.tables.district, &keys::district(2, 10), |row| {
            rows::district::NEXT_ORDER.add(row, 1);
        });
    });
    // The newest new order is gone, as if delivered before all others.
    fails(&[2], |data| deliver(data, data.tpcc.scale.orders_per_district));
}

/// Delivers an order out of order, but correctly otherwise.
fn deliver(data: &Spoiler<'_>, number: u32) {
    let (_, customer) = data.lines_and_customer(number);
    data.delete(&data.tpcc.tables.new_order, &keys::order(1, 1, number));
    data.order(number, |row| rows::order::CARRIER.set(row, 1));
    let amount = std::cell::Cell::new(0);
    data.deliver_lines(number, |row| {
        amount.set(amount.get() + rows::order_line::AMOUNT.get(row));
    });
    let key = keys::customer(1, 1, customer);
    data.change(&data.tpcc.tables.customer, &key, |row| {
        rows::customer::BALANCE.add(row, amount.get());
        rows::customer::DELIVERIES.add(row, 1);
    });
}

#[test]
fn condition_3_new_orders_without_gaps() {
    fails(&[3], |data| deliver(data, data.last_delivered() + 5));
}

#[test]
fn condition_4_lines_of_a_district() {
    fails(&[4], |data| {
        // A line of no order.
        let key = keys::order_line(1, 1, 0, 1);
        data.insert(&data.tpcc.tables.order_line, &key, &[0; rows::order_line::LEN]);
    });
}

#[test]
fn condition_5_carriers_and_new_orders() {
    fails(&[5], |data| {
        let number = data.last_delivered() + 1;
        data.order(number, |row| rows::order::CARRIER.set(row, 1));
        data.deliver_lines(number, |row| rows::order_line::AMOUNT.set(row, 0));
    });
    // A new order that is no order is no delivery either.
    fails(&[2, 5, 11], |data| {
        let key = keys::order(1, 1, data.tpcc.scale.orders_per_district + 1);
        data.insert(&data.tpcc.tables.new_order, &key, &[]);
    });
}

#[test]
fn condition_6_lines_of_an_order() {
    fails(&[6], |data| {
        for (number, more) in [(1, 1), (2, u8::MAX)] {
            data.order(number, |row| {
                let lines = rows::order::LINES.get(row).wrapping_add(more);
                rows::order::LINES.set(row, lines);
            });
        }
    });
}

#[test]
fn condition_7_delivery_dates_and_carriers() {
    fails(&[7], |data| {
        let key = keys::order_line(1, 1, 1, 1);
        let table = &data.tpcc.tables.order_line;
        data.change(table, &key, |row| rows::order_line::DELIVERY_DATE.set(row, 0));
    });
    fails(&[7], |data| {
        let key = keys::order_line(1, 1, data.last_delivered() + 1, 1);
        data.change(&data.tpcc.tables.order_line, &key, |row| {
            rows::order_line::DELIVERY_DATE.set(row, 1);
            rows::order_line::AMOUNT.set(row, 0);
        });
    });
}

#[test]
fn condition_8_warehouse_and_history() {
    fails(&[8], |data| {
        // By no customer, in a district that does not exist.
        let key = keys::history(0, 1);
        data.insert(&data.tpcc.tables.history, &key, &payment(11, 0, 5));
    });
}

#[test]
fn condition_9_district_and_history() {
    fails(&[9], |data| {
        data.pay(1, 5);
        data.pay(2, -5);
    });
}

#[test]
fn condition_10_customer_lines_and_history() {
    fails(&[10], |data| {
        data.customer(|row| {
            rows::customer::BALANCE.add(row, 1);
            rows::customer::YTD_PAYMENT.add(row, -1);
        });
    });
}

#[test]
fn condition_11_orders_and_deliveries() {
    fails(&[11], |data| {
        data.customer(|row| {
            rows::customer::DELIVERIES.add(row, 1);
        });
    });
}

#[test]
fn condition_12_customer_and_lines() {
    fails(&[12], |data| {
        data.customer(|row| {
            rows::customer::YTD_PAYMENT.add(row, 1);
        });
    });
}

#[test]
fn condition_13_indexes() {
    fails(&[13], |data| {
        data.customer(|row| rows::customer::LAST.set(row, *b"NOT THIS NAME   "));
    });
    fails(&[13], |data| {
        let entry = keys::customer_order(2, 3, 4, 5_000);
        data.insert(&data.tpcc.tables.customer_order, &entry, &[]);
    });
}

#[test]
fn condition_14_stock() {
    use rows::stock::{ORDERS, REMOTE_ORDERS, YTD};
    for count in [YTD, ORDERS, REMOTE_ORDERS] {
        fails(&[14], |data| {
            data.change(&data.tpcc.tables.stock, &keys::stock(2, 17), |row| {
                count.add(row, 1);
            });
        });
    }
}

#[test]
fn condition_15_rows_that_are_missing() {
    fails(&[15], |data| data.delete(&data.tpcc.tables.stock, &keys::stock(1, SCALE.items)));
    fails(&[15], |data| data.delete(&data.tpcc.tables.item, &keys::item(1)));
    fails(&[1, 8, 15], |data| data.delete(&data.tpcc.tables.warehouse, &keys::warehouse(2)));
    fails(&[1, 2, 9, 15], |data| data.delete(&data.tpcc.tables.district, &keys::district(1, 1)));
    fails(&[13, 15], |data| data.delete(&data.tpcc.tables.customer, &keys::customer(1, 1, 1)));
}
