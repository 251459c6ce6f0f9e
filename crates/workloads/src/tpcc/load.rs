//! Loading the data (clause 4.3.3): units of work that any thread may take, each with random
//! numbers of its own, so that the same rows are written with any number of threads.

mod orders;
mod people;
mod wares;

use clearway_sync::atomic::{AtomicU64, Ordering};
use clearway_testkit::Random;
use clearway_testkit::program::ProgramError;

use super::{DISTRICTS, Tables, TpccScale, random::load_constant, terminal::now};
use crate::{
    loading::{Loader, Mark, Progress, in_parallel},
    store::Store,
};

/// Parts that the items, and each warehouse's stock, are loaded in.
const PARTS: u32 = 10;
/// The loaders' random numbers are the same each time.
const SEED: u64 = 0x7043_4C4F_4144;

/// Loads the data if the store has none; checks their scale if it has. Returns the constant with
/// which last names were drawn.
pub(super) fn load_if_absent<S: Store>(
    store: &S,
    tables: &Tables<S>,
    scale: TpccScale,
    threads: usize,
    progress: &Progress<'_>,
) -> Result<u32, S::Error> {
    let constant = load_constant(&mut Random::stream(SEED, u64::MAX));
    let bytes = scale.to_bytes();
    let mark = Mark { store, table: &tables.scale, what: "TPC-C data", scale: &bytes };
    let load = || load(store, tables, &Plan { scale, constant, date: now() }, threads, progress);
    let note = mark.load_once(&constant.to_le_bytes(), load)?;
    let damaged = |_| S::Error::failed("the row that says what was loaded is damaged".into());
    note.try_into().map(u32::from_le_bytes).map_err(damaged)
}

/// The parameters of a loading.
struct Plan {
    scale: TpccScale,
    /// Of the distribution of last names.
    constant: u32,
    /// The date of all loaded rows.
    date: i64,
}

/// The unit of work of a loading thread.
enum Unit {
    Items { part: u32 },
    Warehouse { warehouse: u32 },
    Stock { warehouse: u32, part: u32 },
    Customers { warehouse: u32, district: u8 },
    Orders { warehouse: u32, district: u8 },
}

/// Units of a warehouse: itself, its stock, and twice its districts.
const WAREHOUSE_UNITS: u64 = 1 + PARTS as u64 + 2 * DISTRICTS as u64;

/// The unit with this number, if there is one.
fn unit(scale: &TpccScale, number: u64) -> Option<Unit> {
    let Some(rest) = number.checked_sub(u64::from(PARTS)) else {
        return Some(Unit::Items { part: number as u32 });
    };
    let (before, place) = (rest / WAREHOUSE_UNITS, (rest % WAREHOUSE_UNITS) as u32);
    if before >= u64::from(scale.warehouses) {
        return None;
    }
    let warehouse = before as u32 + 1;
    let stock = 1..1 + PARTS;
    let customers = stock.end..stock.end + u32::from(DISTRICTS);
    Some(if place == 0 {
        Unit::Warehouse { warehouse }
    } else if stock.contains(&place) {
        Unit::Stock { warehouse, part: place - stock.start }
    } else if customers.contains(&place) {
        Unit::Customers { warehouse, district: (place - customers.start) as u8 + 1 }
    } else {
        Unit::Orders { warehouse, district: (place - customers.end) as u8 + 1 }
    })
}

/// The items of a part.
fn part_of_items(scale: &TpccScale, part: u32) -> std::ops::RangeInclusive<u32> {
    let bound = |part: u32| (u64::from(scale.items) * u64::from(part) / u64::from(PARTS)) as u32;
    bound(part) + 1..=bound(part + 1)
}

fn load<S: Store>(
    store: &S,
    tables: &Tables<S>,
    plan: &Plan,
    threads: usize,
    progress: &Progress<'_>,
) -> Result<(), S::Error> {
    let next = AtomicU64::new(0);
    in_parallel(store, progress, 0..threads.max(1), |_, loader| {
        loop {
            // Relaxed: hands out numbers and nothing else.
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(unit) = unit(&plan.scale, number) else { return Ok(()) };
            let loaded = plan.load(tables, &unit, &mut Random::stream(SEED, number), loader);
            if loaded.is_err() {
                // Make the other threads stop as well.
                next.store(u64::MAX / 2, Ordering::Relaxed);
                return loaded;
            }
        }
    })
}

impl Plan {
    fn load<'a, S: Store>(
        &self,
        tables: &'a Tables<S>,
        unit: &Unit,
        random: &mut Random,
        loader: &mut Loader<'a, S>,
    ) -> Result<(), S::Error> {
        match *unit {
            Unit::Items { part } => self.items(tables, part, random, loader),
            Unit::Warehouse { warehouse } => self.warehouse(tables, warehouse, random, loader),
            Unit::Stock { warehouse, part } => self.stock(tables, warehouse, part, random, loader),
            Unit::Customers { warehouse, district } => {
                self.customers(tables, (warehouse, district), random, loader)
            }
            Unit::Orders { warehouse, district } => {
                self.orders(tables, (warehouse, district), random, loader)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_cover_everything_once() {
        let scale = TpccScale { items: 123, ..TpccScale::small(3) };
        let mut units = Vec::new();
        while let Some(unit) = unit(&scale, units.len() as u64) {
            units.push(match unit {
                Unit::Items { part } => (0, 0, part),
                Unit::Warehouse { warehouse } => (1, warehouse, 0),
                Unit::Stock { warehouse, part } => (2, warehouse, part),
                Unit::Customers { warehouse, district } => (3, warehouse, district.into()),
                Unit::Orders { warehouse, district } => (4, warehouse, district.into()),
            });
        }
        units.sort_unstable();
        let parts = (0..PARTS).map(|part| (0, 0, part));
        let per_warehouse = |kind, range: std::ops::Range<u32>| {
            (1..=3).flat_map(move |w| range.clone().map(move |place| (kind, w, place)))
        };
        let wanted = parts
            .chain(per_warehouse(1, 0..1))
            .chain(per_warehouse(2, 0..PARTS))
            .chain(per_warehouse(3, 1..11))
            .chain(per_warehouse(4, 1..11));
        assert!(units.iter().copied().eq(wanted));
        assert!((0..PARTS).flat_map(|part| part_of_items(&scale, part)).eq(1..=123));
    }
}
