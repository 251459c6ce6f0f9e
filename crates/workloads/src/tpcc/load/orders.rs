//! Loading a district's orders: their lines, the index by customer, and new-order rows for those
//! that are not delivered yet, which are the last.

use clearway_testkit::Random;

use super::Plan;
use crate::{
    loading::Loader,
    store::Store,
    tpcc::{
        LINES_MAX, LINES_MIN, Tables, keys,
        random::{between, permutation, text},
        rows::{order, order_line},
    },
};

impl Plan {
    pub(super) fn orders<'a, S: Store>(
        &self,
        tables: &'a Tables<S>,
        (warehouse, district): (u32, u8),
        random: &mut Random,
        loader: &mut Loader<'a, S>,
    ) -> Result<(), S::Error> {
        // Each customer once, at the standard scale; over again where there are more orders.
        let customers = permutation(random, self.scale.customers_per_district);
        let delivered = self.scale.delivered_per_district();
        for (number, &customer) in
            (1..=self.scale.orders_per_district).zip(customers.iter().cycle())
        {
            let is_delivered = number <= delivered;
            let lines = between(random, LINES_MIN.into(), LINES_MAX.into()) as u8;
            let mut row = [0; order::LEN];
            order::ENTRY_DATE.set(&mut row, self.date);
            order::CUSTOMER.set(&mut row, customer);
            order::LINES.set(&mut row, lines);
            order::ALL_LOCAL.set(&mut row, 1);
            if is_delivered {
                order::CARRIER.set(&mut row, between(random, 1, 10) as u8);
            }
            let key = keys::order(warehouse, district, number);
            loader.insert(&tables.order, &key, &row)?;
            let entry = keys::customer_order(warehouse, district, customer, number);
            loader.insert(&tables.customer_order, &entry, &[])?;
            if !is_delivered {
                loader.insert(&tables.new_order, &key, &[])?;
            }
            for line in 1..=lines {
                let row = self.order_line(warehouse, is_delivered, random);
                let key = keys::order_line(warehouse, district, number, line);
                loader.insert(&tables.order_line, &key, &row)?;
            }
        }
        Ok(())
    }

    fn order_line(
        &self,
        warehouse: u32,
        is_delivered: bool,
        random: &mut Random,
    ) -> [u8; order_line::LEN] {
        let mut row = [0; order_line::LEN];
        order_line::ITEM.set(&mut row, between(random, 1, self.scale.items));
        order_line::SUPPLY_WAREHOUSE.set(&mut row, warehouse);
        order_line::QUANTITY.set(&mut row, 5);
        order_line::DISTRICT_INFO.set(&mut row, text(random, 24));
        if is_delivered {
            order_line::DELIVERY_DATE.set(&mut row, self.date);
        } else {
            order_line::AMOUNT.set(&mut row, between(random, 1, 999_999).into());
        }
        row
    }
}
