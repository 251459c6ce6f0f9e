//! Loading a district's customers, with their first payments and the index of their last names.

use clearway_testkit::Random;

use super::{Plan, wares::set_address};
use crate::{
    loading::Loader,
    store::Store,
    tpcc::{
        FIRST_PAYMENT, Tables, keys,
        random::{LAST_NAMES, NonUniform, append, between, digits, last_name, text},
        rows::{customer, history},
    },
};

impl Plan {
    pub(super) fn customers<'a, S: Store>(
        &self,
        tables: &'a Tables<S>,
        home: (u32, u8),
        random: &mut Random,
        loader: &mut Loader<'a, S>,
    ) -> Result<(), S::Error> {
        let customers = self.scale.customers_per_district;
        let names = NonUniform::last_names(self.constant, customers);
        let mut row = Vec::new();
        for number in 1..=customers {
            // The first thousand have one name each, so that no name is missing.
            let name = if number <= LAST_NAMES { number - 1 } else { names.pick(random) };
            self.customer(&mut row, last_name(name), random);
            let (last, first) = (customer::LAST.get(&row), customer::FIRST.get(&row));
            loader.insert(&tables.customer, &keys::customer(home.0, home.1, number), &row)?;
            let entry = keys::customer_name(home.0, home.1, &last, &first, number);
            loader.insert(&tables.customer_name, &entry, &[])?;
            let key = keys::loaded_history(home.0, home.1, number);
            loader.insert(&tables.history, &key, &self.payment(home, number, random))?;
        }
        Ok(())
    }

    fn customer(&self, row: &mut Vec<u8>, last: [u8; 16], random: &mut Random) {
        row.clear();
        row.resize(customer::LEN, 0);
        customer::BALANCE.set(row, -FIRST_PAYMENT);
        customer::YTD_PAYMENT.set(row, FIRST_PAYMENT);
        customer::PAYMENTS.set(row, 1);
        customer::CREDIT_LIMIT.set(row, 5_000_000);
        customer::SINCE.set(row, self.date);
        customer::DISCOUNT.set(row, between(random, 0, 5_000));
        customer::CREDIT.set(row, if random.chance(10) { customer::BAD_CREDIT } else { *b"GC" });
        customer::MIDDLE.set(row, *b"OE");
        customer::FIRST.set(row, text(random, 8));
        customer::LAST.set(row, last);
        let mut phone = [0; 16];
        digits(random, &mut phone);
        customer::PHONE.set(row, phone);
        set_address(customer::ADDRESS, row, random);
        append(random, row, 300, customer::DATA_LEN_MAX as u32, false);
    }

    /// The history row of a customer's first payment.
    fn payment(&self, home: (u32, u8), number: u32, random: &mut Random) -> [u8; history::LEN] {
        let mut row = [0; history::LEN];
        history::DATE.set(&mut row, self.date);
        history::AMOUNT.set(&mut row, FIRST_PAYMENT);
        history::CUSTOMER.set(&mut row, number);
        history::CUSTOMER_WAREHOUSE.set(&mut row, home.0);
        history::CUSTOMER_DISTRICT.set(&mut row, home.1);
        history::WAREHOUSE.set(&mut row, home.0);
        history::DISTRICT.set(&mut row, home.1);
        history::DATA.set(&mut row, text(random, 12));
        row
    }
}
