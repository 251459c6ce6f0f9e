//! Single transactions, whose results are compared with the rows they found.

use super::*;
use crate::tpcc::{
    access::Who,
    delivery::Delivery,
    keys::NAME_LEN,
    new_order::{Line, NewOrder},
    order_status::OrderStatus,
    payment::Payment,
    random::last_name,
    rows::{customer, district, history, item, order, order_line, stock, warehouse},
    stock_level::StockLevel,
};

/// Loaded data and one client's buffers.
struct Data {
    store: ClearwayStore,
    tpcc: Tpcc<ClearwayStore>,
}

impl Data {
    fn new(warehouses: u32) -> Data {
        let (store, tpcc) = loaded(TpccScale::small(warehouses), TpccMix::Standard);
        Data { store, tpcc }
    }

    fn tables(&self) -> &Tables<ClearwayStore> {
        &self.tpcc.tables
    }

    fn perform(&self, work: Work) -> clearway::Result<i64> {
        let mut scratch = Scratch::default();
        self.store.run(work.kind().name(), |tx| self.tpcc.perform(tx, &work, &mut scratch))
    }

    fn row(&self, table: &clearway::Table, key: &[u8]) -> Vec<u8> {
        let mut row = Vec::new();
        assert!(self.store.run("row", |tx| tx.get(table, key, &mut row)).unwrap(), "{key:?}");
        row
    }

    fn set(&self, table: &clearway::Table, key: &[u8], row: &[u8]) {
        self.store.run("set", |tx| tx.put(table, key, row)).unwrap();
    }

    /// The keys of a table from `low` to `high`.
    fn keys(&self, table: &clearway::Table, low: &[u8], high: &[u8]) -> Vec<Vec<u8>> {
        let scanned = self.store.run("keys", |tx| {
            let mut keys = Vec::new();
            tx.scan(table, access::inclusive(low, high), ScanOrder::Ascending, &mut |key, _| {
                keys.push(key.to_vec());
                true
            })?;
            Ok(keys)
        });
        scanned.unwrap()
    }

    fn new_orders(&self, district: u8) -> Vec<u32> {
        let (low, high) = (keys::order(1, district, 0), keys::order(1, district, u32::MAX));
        let keys = self.keys(&self.tables().new_order, &low, &high);
        keys.iter().map(|key| keys::last_number(key)).collect()
    }
}

/// An order in district 3 of warehouse 1, of item 7 at home and of item 8 from elsewhere.
fn order_of_two(customer: u32) -> NewOrder {
    let mut lines = [Line::default(); LINES_MAX as usize];
    lines[0] = Line { item: 7, supply_warehouse: 1, quantity: 4 };
    lines[1] = Line { item: 8, supply_warehouse: 2, quantity: 10 };
    let (is_mistaken, line_count) = (false, 2);
    NewOrder { warehouse: 1, district: 3, customer, date: 77, is_mistaken, line_count, lines }
}

#[test]
fn new_order_takes_from_the_stock_and_adds_its_rows() {
    let data = Data::new(2);
    let (near, far) = (keys::stock(1, 7), keys::stock(2, 8));
    for (key, quantity) in [(near, 14), (far, 19)] {
        let mut row = data.row(&data.tables().stock, &key);
        stock::QUANTITY.set(&mut row, quantity);
        data.set(&data.tables().stock, &key, &row);
    }
    let total = data.perform(Work::NewOrder(order_of_two(5))).unwrap();

    let near = data.row(&data.tables().stock, &near);
    let far = data.row(&data.tables().stock, &far);
    // 14 - 4 is ten and enough; 19 - 10 is less and filled up.
    assert_eq!((stock::QUANTITY.get(&near), stock::QUANTITY.get(&far)), (10, 100));
    assert_eq!((stock::YTD.get(&near), stock::YTD.get(&far)), (4, 10));
    assert_eq!((stock::REMOTE_ORDERS.get(&near), stock::REMOTE_ORDERS.get(&far)), (0, 1));

    let row = data.row(&data.tables().order, &keys::order(1, 3, 61));
    assert_eq!((order::CUSTOMER.get(&row), order::LINES.get(&row)), (5, 2));
    assert_eq!((order::CARRIER.get(&row), order::ALL_LOCAL.get(&row)), (0, 0));
    assert_eq!(order::ENTRY_DATE.get(&row), 77);
    assert_eq!(data.new_orders(3).last(), Some(&61));
    let district = data.row(&data.tables().district, &keys::district(1, 3));
    assert_eq!(district::NEXT_ORDER.get(&district), 62);

    let mut sum = 0;
    for (place, number, quantity, from) in [(1, 7, 4, &near), (2, 8, 10, &far)] {
        let line = data.row(&data.tables().order_line, &keys::order_line(1, 3, 61, place));
        let price = item::PRICE.get(&data.row(&data.tables().item, &keys::item(number)));
        assert_eq!(order_line::AMOUNT.get(&line), price * quantity);
        assert_eq!(order_line::ITEM.get(&line), number);
        assert_eq!(order_line::DELIVERY_DATE.get(&line), 0);
        let info = order_line::DISTRICT_INFO.get(&line);
        assert_eq!(info, stock::district_info(3).get(from));
        sum += price * quantity;
    }
    let customer = data.row(&data.tables().customer, &keys::customer(1, 3, 5));
    let warehouse = data.row(&data.tables().warehouse, &keys::warehouse(1));
    let tax = (warehouse::TAX.get(&warehouse) + district::TAX.get(&district)) as f64 / 1e4;
    let discount = f64::from(customer::DISCOUNT.get(&customer)) / 1e4;
    let wanted = sum as f64 * (1.0 - discount) * (1.0 + tax);
    assert!((total as f64 - wanted).abs() < 1.1, "{total} {wanted}");
    assert_consistent(&data.store, &data.tpcc);
}

#[test]
fn new_order_of_an_unused_item_leaves_nothing() {
    let data = Data::new(2);
    let mut mistaken = order_of_two(5);
    mistaken.lines[1].item = data.tpcc.scale.items + 1;
    mistaken.is_mistaken = true;
    let error = data.perform(Work::NewOrder(mistaken)).unwrap_err();
    assert!(error.is_rollback(), "{error}");
    assert_eq!(assert_consistent(&data.store, &data.tpcc).orders, 0);
    // A missing item that should exist is not a requested rollback.
    let mut wrong = order_of_two(5);
    wrong.lines[0].item = data.tpcc.scale.items + 1;
    let error = data.perform(Work::NewOrder(wrong)).unwrap_err();
    assert!(!error.is_rollback() && error.to_string().contains("item"), "{error}");
}

fn payment_by(who: Who) -> Payment {
    Payment {
        warehouse: 1,
        district: 2,
        customer_warehouse: 2,
        customer_district: 9,
        who,
        amount: 1_234,
        date: 77,
        history: keys::history(0, 1),
    }
}

#[test]
fn payment_adds_to_warehouse_district_customer_and_history() {
    let data = Data::new(2);
    let loaded = |table, key: &[u8]| data.row(table, key);
    let before = loaded(&data.tables().warehouse, &keys::warehouse(1));
    let balance = data.perform(Work::Payment(payment_by(Who::Number(6)))).unwrap();
    assert_eq!(balance, -FIRST_PAYMENT - 1_234);
    let row = loaded(&data.tables().warehouse, &keys::warehouse(1));
    assert_eq!(warehouse::YTD.get(&row), warehouse::YTD.get(&before) + 1_234);
    let row = loaded(&data.tables().customer, &keys::customer(2, 9, 6));
    assert_eq!((customer::BALANCE.get(&row), customer::PAYMENTS.get(&row)), (balance, 2));
    assert_eq!(customer::YTD_PAYMENT.get(&row), FIRST_PAYMENT + 1_234);
    let row = loaded(&data.tables().history, &keys::history(0, 1));
    assert_eq!((history::DATE.get(&row), history::AMOUNT.get(&row)), (77, 1_234));
    let names = history::DATA.get(&row);
    assert_eq!(names[..10], warehouse::NAME.get(&before));
    assert_eq!(names[10..14], *b"    ");
    let report = assert_consistent(&data.store, &data.tpcc);
    assert_eq!((report.payments, report.orders), (1, 0));
}

#[test]
fn payment_with_bad_credit_is_noted_before_what_was_there() {
    let data = Data::new(2);
    let key = keys::customer(2, 9, 6);
    for (credit, noted) in [(*b"GC", false), (customer::BAD_CREDIT, true)] {
        let mut before = data.row(&data.tables().customer, &key);
        customer::CREDIT.set(&mut before, credit);
        before.resize(customer::LEN + 490, b'x');
        data.set(&data.tables().customer, &key, &before);
        let mut payment = payment_by(Who::Number(6));
        payment.history = keys::history(0, 1 + u32::from(noted));
        data.perform(Work::Payment(payment)).unwrap();
        let after = data.row(&data.tables().customer, &key);
        let (old, new) = (customer::DATA.get(&before), customer::DATA.get(&after));
        if noted {
            assert_eq!(new.len(), customer::DATA_LEN_MAX);
            assert_eq!((new[0], new[4], new[5], new[9], new[10]), (6, 9, 2, 2, 1));
            assert_eq!(new[14..22], 1_234i64.to_le_bytes());
            assert_eq!(new[22..], old[..478]);
        } else {
            assert_eq!(new, old);
        }
    }
}

/// Gives `count` customers of district 9 of warehouse 2 a name of their own, with first names in
/// descending order.
fn namesakes(data: &Data, count: u32) -> [u8; NAME_LEN] {
    let name = *b"SAME            ";
    for number in 1..=count {
        let mut first = *b"FIRST           ";
        first[5] = b'Z' - number as u8;
        let entry = keys::customer_name(2, 9, &name, &first, number);
        data.set(&data.tables().customer_name, &entry, &[]);
    }
    name
}

#[test]
fn of_customers_with_one_name_it_is_the_middle_one_by_first_name() {
    // By first name the last comes first: of five the third, of four the second.
    for (count, wanted) in [(1, 1), (2, 2), (4, 3), (5, 3)] {
        let data = Data::new(2);
        let name = namesakes(&data, count);
        data.perform(Work::Payment(payment_by(Who::LastName(name)))).unwrap();
        let paid = data.row(&data.tables().history, &keys::history(0, 1));
        assert_eq!(history::CUSTOMER.get(&paid), wanted, "of {count}");
    }
    let unknown = Who::LastName(*b"NO CUSTOMER     ");
    let error = Data::new(2).perform(Work::Payment(payment_by(unknown))).unwrap_err();
    assert!(error.to_string().contains("customer's name"), "{error}");
}

#[test]
fn order_status_shows_the_balance_and_the_newest_order_if_there_is_one() {
    let data = Data::new(1);
    let ask = |who| OrderStatus { warehouse: 1, district: 3, who };
    let named = ask(Who::LastName(last_name(4)));
    assert_eq!(data.perform(Work::OrderStatus(named)).unwrap(), -FIRST_PAYMENT);
    let newest = || {
        let question = ask(Who::Number(5));
        data.store.run("newest", |tx| question.newest_order(data.tables(), tx, 5)).unwrap()
    };
    let loaded = newest().unwrap();
    assert!(loaded <= 60);
    let mut another = order_of_two(5);
    another.lines[1].supply_warehouse = 1;
    data.perform(Work::NewOrder(another)).unwrap();
    assert_eq!(newest(), Some(61));
    for number in [loaded, 61] {
        let entry = keys::customer_order(1, 3, 5, number);
        data.store.run("drop", |tx| tx.delete(&data.tables().customer_order, &entry)).unwrap();
    }
    assert_eq!(newest(), None);
    let orderless = Work::OrderStatus(ask(Who::Number(5)));
    assert_eq!(data.perform(orderless).unwrap(), -FIRST_PAYMENT);
}

#[test]
fn delivery_takes_the_oldest_of_each_district_and_passes_over_empty_ones() {
    let data = Data::new(1);
    let visit = || Work::Delivery(Delivery { warehouse: 1, carrier: 4, date: 77 });
    assert_eq!(data.perform(visit()).unwrap(), 10);
    for district in 1..=DISTRICTS {
        assert_eq!(data.new_orders(district).first(), Some(&44), "43 was the oldest");
    }
    let row = data.row(&data.tables().order, &keys::order(1, 6, 43));
    assert_eq!(order::CARRIER.get(&row), 4);
    let mut amount = 0;
    for line in 1..=order::LINES.get(&row) {
        let line = data.row(&data.tables().order_line, &keys::order_line(1, 6, 43, line));
        assert_eq!(order_line::DELIVERY_DATE.get(&line), 77);
        amount += order_line::AMOUNT.get(&line);
    }
    let customer = keys::customer(1, 6, order::CUSTOMER.get(&row));
    let customer = data.row(&data.tables().customer, &customer);
    assert_eq!(customer::BALANCE.get(&customer), amount - FIRST_PAYMENT);
    assert_eq!(customer::DELIVERIES.get(&customer), 1);

    // All that are left, and one more order in district 3.
    for _ in 0..17 {
        assert_eq!(data.perform(visit()).unwrap(), 10);
    }
    let mut one_more = order_of_two(5);
    one_more.lines[1].supply_warehouse = 1;
    data.perform(Work::NewOrder(one_more)).unwrap();
    assert_eq!(data.perform(visit()).unwrap(), 1);
    assert_eq!(data.perform(visit()).unwrap(), 0);
    let report = assert_consistent(&data.store, &data.tpcc);
    assert_eq!((report.orders, report.deliveries), (1, 18 * 10 + 1));
}

#[test]
fn stock_level_counts_each_low_item_of_the_last_twenty_orders_once() {
    let data = Data::new(1);
    let (low, high) = (keys::order_line(1, 3, 41, 0), keys::order_line(1, 3, 60, u8::MAX));
    let lines = data.keys(&data.tables().order_line, &low, &high);
    let items: std::collections::BTreeSet<u32> = lines
        .iter()
        .map(|key| order_line::ITEM.get(&data.row(&data.tables().order_line, key)))
        .collect();
    assert!(items.len() < lines.len(), "no item is ordered twice");
    for threshold in [10, 15, 101] {
        let quantity = |item: &&u32| {
            stock::QUANTITY.get(&data.row(&data.tables().stock, &keys::stock(1, **item)))
        };
        let wanted = items.iter().filter(|item| quantity(item) < threshold).count();
        let ask = StockLevel { warehouse: 1, district: 3, threshold };
        assert_eq!(data.perform(Work::StockLevel(ask)).unwrap(), wanted as i64);
    }
}

#[test]
fn what_is_drawn_has_the_shares_of_the_specification() {
    const ORDERS: u32 = 40_000;
    let mut terminal = Terminal::new(TpccScale::standard(3), 100, 1, 1);
    let (mut lines, mut remote, mut mistaken) = (0, 0, 0);
    for _ in 0..ORDERS {
        let order = NewOrder::draw(&mut terminal);
        assert!((LINES_MIN..=LINES_MAX).contains(&order.line_count));
        let drawn = &order.lines[..usize::from(order.line_count)];
        lines += drawn.len() as u32;
        remote += drawn.iter().filter(|line| line.supply_warehouse != order.warehouse).count();
        mistaken += u32::from(order.is_mistaken);
        let sells = drawn.iter().all(|line| line.item <= 100_000);
        assert_eq!(sells, !order.is_mistaken);
    }
    assert!(lines.abs_diff(10 * ORDERS) < ORDERS / 10, "{lines}");
    assert!((remote as u32).abs_diff(ORDERS / 10) < ORDERS / 100, "{remote}");
    assert!(mistaken.abs_diff(ORDERS / 100) < ORDERS / 400, "{mistaken}");
    let (mut remote, mut named) = (0u32, 0u32);
    for sequence in 0..ORDERS {
        let payment = Payment::draw(&mut terminal, sequence);
        remote += u32::from(payment.customer_warehouse != payment.warehouse);
        named += u32::from(matches!(payment.who, Who::LastName(_)));
        assert!((100..=500_000).contains(&payment.amount));
    }
    assert!(remote.abs_diff(ORDERS * 15 / 100) < ORDERS / 100, "{remote}");
    assert!(named.abs_diff(ORDERS * 60 / 100) < ORDERS / 100, "{named}");
}
