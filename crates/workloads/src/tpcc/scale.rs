//! The scale of the data.

use super::DISTRICTS;

/// Rows of each kind; see [`standard`](TpccScale::standard) for the specification's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TpccScale {
    /// Warehouses; each has ten districts and a stock row for each item.
    pub warehouses: u32,
    /// Items on sale: 100,000 in the specification.
    pub items: u32,
    /// Customers of each district: 3,000 in the specification.
    pub customers_per_district: u32,
    /// Orders that each district begins with: 3,000 in the specification.
    pub orders_per_district: u32,
    /// Number of orders, the youngest, that are not delivered yet: 900 in the specification.
    pub new_orders_per_district: u32,
}

impl TpccScale {
    /// The specification's scale (clause 4.3.3): about 630,000 rows for each warehouse and 100,000
    /// items.
    pub fn standard(warehouses: u32) -> TpccScale {
        TpccScale {
            warehouses,
            items: 100_000,
            customers_per_district: 3_000,
            orders_per_district: 3_000,
            new_orders_per_district: 900,
        }
    }

    /// A fiftieth of it, for tests: some 13,000 rows for each warehouse.
    pub fn small(warehouses: u32) -> TpccScale {
        TpccScale {
            warehouses,
            items: 1_000,
            customers_per_district: 60,
            orders_per_district: 60,
            new_orders_per_district: 18,
        }
    }

    /// Rows that loading writes, index entries included. How many lines an order has is drawn,
    /// ten on average, so this is right to a percent or so.
    pub fn rows(&self) -> u64 {
        let customers = 3 * u64::from(self.customers_per_district);
        let orders = 12 * u64::from(self.orders_per_district);
        let district = 1 + customers + orders + u64::from(self.new_orders_per_district);
        let warehouse = 1 + u64::from(self.items) + u64::from(DISTRICTS) * district;
        u64::from(self.items) + u64::from(self.warehouses) * warehouse
    }

    /// Returns the reason why the scale is invalid, if it is.
    pub(super) fn fault(&self) -> Option<&'static str> {
        // A history key has 31 bits for the district that a loaded row is of.
        const WAREHOUSES_MAX: u32 = (1 << 31) / DISTRICTS as u32;
        if !(1..=WAREHOUSES_MAX).contains(&self.warehouses) {
            Some("a TPC-C database has at least one warehouse, and at most 200 million")
        } else if self.items == 0 || self.customers_per_district == 0 {
            Some("a TPC-C database has at least one item and customer")
        } else if self.orders_per_district == 0 {
            Some("a TPC-C district has at least one order")
        } else if self.new_orders_per_district > self.orders_per_district {
            Some("a TPC-C district has no more new orders than orders")
        } else {
            None
        }
    }

    /// Orders of a district that are loaded as delivered; they have the lowest numbers.
    pub(super) fn delivered_per_district(&self) -> u32 {
        self.orders_per_district - self.new_orders_per_district
    }

    /// The amount that all customers of a district have paid when loaded, in cents.
    pub(super) fn district_ytd(&self) -> i64 {
        i64::from(self.customers_per_district) * super::FIRST_PAYMENT
    }

    /// The scale as the scale row has it.
    pub(super) fn to_bytes(self) -> [u8; 20] {
        let numbers = [
            self.warehouses,
            self.items,
            self.customers_per_district,
            self.orders_per_district,
            self.new_orders_per_district,
        ];
        let mut bytes = [0; 20];
        for (place, number) in bytes.chunks_exact_mut(4).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }
}
