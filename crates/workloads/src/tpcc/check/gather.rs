//! Reads the rows and collects the facts.

use clearway_testkit::program::Operations;

use super::{
    facts::{CustomerFacts, DistrictFacts, OrderFacts, Ordered, Payments, Taken, WarehouseFacts},
    read::scan,
};
use crate::{
    store::Store,
    tpcc::{
        Tpcc,
        keys::{self, NAME_LEN},
        rows::{customer, district, history, order, order_line, stock, warehouse},
    },
};

impl<S: Store> Tpcc<S> {
    pub(super) fn gather_payments(&self, store: &S) -> Result<Payments, S::Error> {
        let mut payments = Payments::new(self.scale);
        let (low, high) = (keys::history(0, 0), keys::history(u32::MAX, u32::MAX));
        let first_loaded = keys::first_loaded_history();
        scan::<S>(store, &self.tables.history, &low, &high, &mut |key, row| {
            let place = (history::WAREHOUSE.get(row), history::DISTRICT.get(row));
            let home = (history::CUSTOMER_WAREHOUSE.get(row), history::CUSTOMER_DISTRICT.get(row));
            payments.add(place, home, history::CUSTOMER.get(row), history::AMOUNT.get(row));
            payments.since_load += u64::from(*key < first_loaded[..]);
        })?;
        Ok(payments)
    }

    pub(super) fn gather_district(
        &self,
        store: &S,
        place: (u32, u8),
        payments: &Payments,
    ) -> Result<DistrictFacts, S::Error> {
        let mut row = Vec::new();
        let key = keys::district(place.0, place.1);
        let exists = store.run("check", |tx| tx.get(&self.tables.district, &key, &mut row))?;
        let mut facts = DistrictFacts {
            exists,
            ytd: district::YTD.get(&row),
            next_order: district::NEXT_ORDER.get(&row),
            paid: payments.in_district(place),
            ..DistrictFacts::new(self.scale)
        };
        self.gather_customers(store, place, payments, &mut facts)?;
        self.gather_orders(store, place, &mut facts)?;
        self.gather_lines(store, place, &mut facts)?;
        Ok(facts)
    }

    /// The customers and the index of their names.
    fn gather_customers(
        &self,
        store: &S,
        place @ (w, d): (u32, u8),
        payments: &Payments,
        facts: &mut DistrictFacts,
    ) -> Result<(), S::Error> {
        let (low, high) = (keys::customer(w, d, 0), keys::customer(w, d, u32::MAX));
        scan::<S>(store, &self.tables.customer, &low, &high, &mut |key, row| {
            let number = keys::last_number(key);
            facts.customers.push(CustomerFacts {
                number,
                last: customer::LAST.get(row),
                first: customer::FIRST.get(row),
                balance: customer::BALANCE.get(row),
                ytd_payment: customer::YTD_PAYMENT.get(row),
                deliveries: customer::DELIVERIES.get(row),
                paid: payments.by_customer(place, number),
                delivered: 0,
            });
        })?;
        let low = keys::customer_name(w, d, &[0; NAME_LEN], &[0; NAME_LEN], 0);
        let high = keys::customer_name(w, d, &[u8::MAX; NAME_LEN], &[u8::MAX; NAME_LEN], u32::MAX);
        scan::<S>(store, &self.tables.customer_name, &low, &high, &mut |key, _| {
            let name = |at: usize| {
                let bytes = key.get(at..).and_then(<[u8]>::first_chunk::<NAME_LEN>);
                bytes.copied().unwrap_or_default()
            };
            facts.names.push((name(5), name(5 + NAME_LEN), keys::last_number(key)));
        })
    }

    /// The orders, their index by customer, and the new-order rows.
    fn gather_orders(
        &self,
        store: &S,
        (w, d): (u32, u8),
        facts: &mut DistrictFacts,
    ) -> Result<(), S::Error> {
        let (low, high) = (keys::order(w, d, 0), keys::order(w, d, u32::MAX));
        scan::<S>(store, &self.tables.order, &low, &high, &mut |key, row| {
            facts.orders.push(OrderFacts {
                number: keys::last_number(key),
                customer: order::CUSTOMER.get(row),
                carrier: order::CARRIER.get(row),
                lines: order::LINES.get(row),
                line_rows: 0,
            });
        })?;
        scan::<S>(store, &self.tables.new_order, &low, &high, &mut |key, _| {
            facts.new_orders.push(keys::last_number(key));
        })?;
        let low = keys::customer_order(w, d, 0, 0);
        let high = keys::customer_order(w, d, u32::MAX, u32::MAX);
        scan::<S>(store, &self.tables.customer_order, &low, &high, &mut |key, _| {
            facts.customer_orders.push((keys::number(key, 5), keys::last_number(key)));
        })
    }

    /// The order lines: what they come to for orders, customers and the stock.
    fn gather_lines(
        &self,
        store: &S,
        (w, d): (u32, u8),
        facts: &mut DistrictFacts,
    ) -> Result<(), S::Error> {
        let loaded = self.scale.orders_per_district;
        let low = keys::order_line(w, d, 0, 0);
        let high = keys::order_line(w, d, u32::MAX, u8::MAX);
        scan::<S>(store, &self.tables.order_line, &low, &high, &mut |key, row| {
            facts.line_rows += 1;
            let number = keys::number(key, 5);
            if number > loaded {
                let supplier = order_line::SUPPLY_WAREHOUSE.get(row);
                let quantity = u32::from(order_line::QUANTITY.get(row));
                facts.ordered.add(supplier, order_line::ITEM.get(row), quantity, supplier != w);
            }
            let is_delivered = order_line::DELIVERY_DATE.get(row) != 0;
            let Some(order) = facts.order_mut(number) else { return };
            order.line_rows += 1;
            let (customer, has_carrier) = (order.customer, order.carrier != 0);
            if has_carrier != is_delivered {
                facts.lines_off.push((number, key.last().copied().unwrap_or(0)));
            }
            if is_delivered && let Some(customer) = facts.customer_mut(customer) {
                customer.delivered = customer.delivered.wrapping_add(order_line::AMOUNT.get(row));
            }
        })
    }

    pub(super) fn gather_warehouse(
        &self,
        store: &S,
        number: u32,
        districts_ytd: i64,
        payments: &Payments,
        ordered: &Ordered,
    ) -> Result<WarehouseFacts, S::Error> {
        let (mut row, key) = (Vec::new(), keys::warehouse(number));
        let exists = store.run("check", |tx| tx.get(&self.tables.warehouse, &key, &mut row))?;
        let mut facts = WarehouseFacts {
            exists,
            ytd: warehouse::YTD.get(&row),
            districts_ytd,
            paid: payments.in_warehouse(number),
            stock_rows: 0,
            items: self.scale.items.into(),
            stock_off: Vec::new(),
        };
        let (low, high) = (keys::stock(number, 0), keys::stock(number, u32::MAX));
        scan::<S>(store, &self.tables.stock, &low, &high, &mut |key, row| {
            facts.stock_rows += 1;
            let item = keys::last_number(key);
            let (said, wanted) = (taken(row), ordered.of(number, item));
            if said != wanted {
                facts.stock_off.push((item, said, wanted));
            }
        })?;
        Ok(facts)
    }

    /// Reports a wrong number of rows in the tables that belong to no part.
    pub(super) fn whole_tables_fault(&self, store: &S) -> Result<Option<String>, S::Error> {
        let tables = [
            ("items", &self.tables.item, self.scale.items),
            ("warehouses", &self.tables.warehouse, self.scale.warehouses),
        ];
        for (name, table, wanted) in tables {
            let mut rows = 0u64;
            scan::<S>(store, table, &[0; 4], &[u8::MAX; 4], &mut |_, _| rows += 1)?;
            if rows != u64::from(wanted) {
                return Ok(Some(format!("{rows} {name}, not {wanted}")));
            }
        }
        Ok(None)
    }
}

/// The quantity taken according to a stock row.
fn taken(row: &[u8]) -> Taken {
    Taken {
        quantity: stock::YTD.get(row),
        orders: stock::ORDERS.get(row),
        remote_orders: stock::REMOTE_ORDERS.get(row),
    }
}
