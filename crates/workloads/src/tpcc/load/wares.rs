//! Loading the items, the warehouses with their districts, and the stock.

use clearway_testkit::Random;

use super::{Plan, part_of_items};
use crate::{
    loading::Loader,
    store::Store,
    tpcc::{
        DISTRICTS, Tables, keys,
        random::{alphanumeric, append, between, digits, text},
        rows::{Address, district, item, stock, warehouse},
    },
};

impl Plan {
    pub(super) fn items<'a, S: Store>(
        &self,
        tables: &'a Tables<S>,
        part: u32,
        random: &mut Random,
        loader: &mut Loader<'a, S>,
    ) -> Result<(), S::Error> {
        let mut row = Vec::new();
        for number in part_of_items(&self.scale, part) {
            row.clear();
            row.resize(item::LEN, 0);
            item::IMAGE.set(&mut row, between(random, 1, 10_000));
            item::NAME.set(&mut row, text(random, 14));
            item::PRICE.set(&mut row, between(random, 100, 10_000).into());
            append(random, &mut row, 26, 50, true);
            loader.insert(&tables.item, &keys::item(number), &row)?;
        }
        Ok(())
    }

    /// The warehouse's own row and those of its districts.
    pub(super) fn warehouse<'a, S: Store>(
        &self,
        tables: &'a Tables<S>,
        number: u32,
        random: &mut Random,
        loader: &mut Loader<'a, S>,
    ) -> Result<(), S::Error> {
        let mut row = [0; warehouse::LEN];
        warehouse::TAX.set(&mut row, between(random, 0, 2_000));
        warehouse::YTD.set(&mut row, self.scale.district_ytd() * i64::from(DISTRICTS));
        warehouse::NAME.set(&mut row, text(random, 6));
        set_address(warehouse::ADDRESS, &mut row, random);
        loader.insert(&tables.warehouse, &keys::warehouse(number), &row)?;
        for district in 1..=DISTRICTS {
            let mut row = [0; district::LEN];
            district::TAX.set(&mut row, between(random, 0, 2_000));
            district::YTD.set(&mut row, self.scale.district_ytd());
            district::NEXT_ORDER.set(&mut row, self.scale.orders_per_district + 1);
            district::NAME.set(&mut row, text(random, 6));
            set_address(district::ADDRESS, &mut row, random);
            loader.insert(&tables.district, &keys::district(number, district), &row)?;
        }
        Ok(())
    }

    pub(super) fn stock<'a, S: Store>(
        &self,
        tables: &'a Tables<S>,
        warehouse: u32,
        part: u32,
        random: &mut Random,
        loader: &mut Loader<'a, S>,
    ) -> Result<(), S::Error> {
        let mut row = Vec::new();
        for item in part_of_items(&self.scale, part) {
            row.clear();
            row.resize(stock::LEN, 0);
            stock::QUANTITY.set(&mut row, between(random, 10, 100));
            for district in 1..=DISTRICTS {
                stock::district_info(district).set(&mut row, text(random, 24));
            }
            append(random, &mut row, 26, 50, true);
            loader.insert(&tables.stock, &keys::stock(warehouse, item), &row)?;
        }
        Ok(())
    }
}

/// Two streets and a city of 10 to 20 letters, two letters of state, and a postal code of four
/// random digits and "11111" (clause 4.3.2.7).
pub(super) fn set_address(place: Address, row: &mut [u8], random: &mut Random) {
    let mut address = [0; 71];
    for line in address[..60].chunks_exact_mut(20) {
        line.copy_from_slice(&text::<20>(random, 10));
    }
    alphanumeric(random, &mut address[60..62]);
    digits(random, &mut address[62..66]);
    address[66..].copy_from_slice(b"11111");
    place.set(row, address);
}
