//! The facts that the conditions are about.

use std::collections::HashMap;

use crate::tpcc::{DISTRICTS, TpccScale, keys::NAME_LEN};

/// A district and all that is in it.
pub(super) struct DistrictFacts {
    pub(super) scale: TpccScale,
    /// Whether there is a district row.
    pub(super) exists: bool,
    /// D_YTD.
    pub(super) ytd: i64,
    /// D_NEXT_O_ID.
    pub(super) next_order: u32,
    /// Sum of the H_AMOUNT that were paid here.
    pub(super) paid: i64,
    /// By number.
    pub(super) customers: Vec<CustomerFacts>,
    /// By number.
    pub(super) orders: Vec<OrderFacts>,
    /// NO_O_ID, ascending.
    pub(super) new_orders: Vec<u32>,
    /// Rows in ORDER-LINE.
    pub(super) line_rows: u64,
    /// Lines whose OL_DELIVERY_D is null, or not, where the order's O_CARRIER_ID is not so: order
    /// and line.
    pub(super) lines_off: Vec<(u32, u8)>,
    /// Entries of the index of customers by name.
    pub(super) names: Vec<NameEntry>,
    /// Entries of the index of orders by customer: customer and order.
    pub(super) customer_orders: Vec<(u32, u32)>,
    /// Quantities ordered here since the data were loaded.
    pub(super) ordered: Ordered,
}

/// Last name, first name, number.
pub(super) type NameEntry = ([u8; NAME_LEN], [u8; NAME_LEN], u32);

pub(super) struct CustomerFacts {
    pub(super) number: u32,
    pub(super) last: [u8; NAME_LEN],
    pub(super) first: [u8; NAME_LEN],
    /// C_BALANCE.
    pub(super) balance: i64,
    /// C_YTD_PAYMENT.
    pub(super) ytd_payment: i64,
    /// C_DELIVERY_CNT.
    pub(super) deliveries: u32,
    /// Sum of the H_AMOUNT that the customer paid.
    pub(super) paid: i64,
    /// Sum of the OL_AMOUNT of the customer's delivered lines.
    pub(super) delivered: i64,
}

pub(super) struct OrderFacts {
    pub(super) number: u32,
    pub(super) customer: u32,
    /// O_CARRIER_ID; 0 if it is null.
    pub(super) carrier: u8,
    /// O_OL_CNT.
    pub(super) lines: u8,
    /// Its rows in ORDER-LINE.
    pub(super) line_rows: u32,
}

impl DistrictFacts {
    /// A district in which nothing has been found yet.
    pub(super) fn new(scale: TpccScale) -> DistrictFacts {
        DistrictFacts {
            scale,
            exists: false,
            ytd: 0,
            next_order: 0,
            paid: 0,
            customers: Vec::new(),
            orders: Vec::new(),
            new_orders: Vec::new(),
            line_rows: 0,
            lines_off: Vec::new(),
            names: Vec::new(),
            customer_orders: Vec::new(),
            ordered: Ordered::default(),
        }
    }

    /// Orders of the district that were there from the start.
    pub(super) fn loaded_orders(&self) -> u64 {
        let loaded = self.scale.orders_per_district;
        self.orders.partition_point(|order| order.number <= loaded) as u64
    }

    /// Orders delivered since the data were loaded.
    pub(super) fn deliveries(&self) -> u64 {
        self.customers.iter().map(|customer| u64::from(customer.deliveries)).sum()
    }

    pub(super) fn order_mut(&mut self, number: u32) -> Option<&mut OrderFacts> {
        let place = self.orders.binary_search_by_key(&number, |order| order.number).ok()?;
        self.orders.get_mut(place)
    }

    pub(super) fn customer_mut(&mut self, number: u32) -> Option<&mut CustomerFacts> {
        let found = self.customers.binary_search_by_key(&number, |customer| customer.number);
        self.customers.get_mut(found.ok()?)
    }
}

/// A warehouse, its stock, and what its districts come to.
pub(super) struct WarehouseFacts {
    /// Whether there is a warehouse row.
    pub(super) exists: bool,
    /// W_YTD.
    pub(super) ytd: i64,
    /// Sum of its districts' D_YTD.
    pub(super) districts_ytd: i64,
    /// Sum of the H_AMOUNT that were paid here.
    pub(super) paid: i64,
    /// Rows in STOCK, and how many there should be.
    pub(super) stock_rows: u64,
    pub(super) items: u64,
    /// Items whose stock row does not count what was ordered: the item, what the row says, what
    /// the order lines say.
    pub(super) stock_off: Vec<(u32, Taken, Taken)>,
}

/// The quantity taken from an item's stock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Taken {
    pub(super) quantity: u32,
    pub(super) orders: u32,
    pub(super) remote_orders: u32,
}

/// Quantities ordered since the data were loaded, by supplying warehouse and item.
#[derive(Default)]
pub(super) struct Ordered(HashMap<(u32, u32), Taken>);

impl Ordered {
    pub(super) fn add(&mut self, warehouse: u32, item: u32, quantity: u32, is_remote: bool) {
        let taken = self.0.entry((warehouse, item)).or_default();
        taken.quantity += quantity;
        taken.orders += 1;
        taken.remote_orders += u32::from(is_remote);
    }

    pub(super) fn of(&self, warehouse: u32, item: u32) -> Taken {
        self.0.get(&(warehouse, item)).copied().unwrap_or_default()
    }

    pub(super) fn merge(&mut self, other: &Ordered) {
        for (&place, more) in &other.0 {
            let taken = self.0.entry(place).or_default();
            taken.quantity += more.quantity;
            taken.orders += more.orders;
            taken.remote_orders += more.remote_orders;
        }
    }
}

/// Sums of the history's amounts.
pub(super) struct Payments {
    scale: TpccScale,
    by_warehouse: Vec<i64>,
    by_district: Vec<i64>,
    by_customer: Vec<i64>,
    /// Rows in HISTORY that clients wrote.
    pub(super) since_load: u64,
}

impl Payments {
    pub(super) fn new(scale: TpccScale) -> Payments {
        let warehouses = scale.warehouses as usize;
        let districts = warehouses * usize::from(DISTRICTS);
        Payments {
            scale,
            by_warehouse: vec![0; warehouses],
            by_district: vec![0; districts],
            by_customer: vec![0; districts * scale.customers_per_district as usize],
            since_load: 0,
        }
    }

    /// A payment in `place` by the customer with this home and number. A payment in a district that
    /// does not exist counts nowhere.
    pub(super) fn add(&mut self, place: (u32, u8), home: (u32, u8), customer: u32, amount: i64) {
        let (of_district, of_customer) = (district(place), self.customer(home, customer));
        let warehouse = (place.0 as usize).wrapping_sub(1);
        let sums = [
            self.by_warehouse.get_mut(warehouse),
            of_district.and_then(|district| self.by_district.get_mut(district)),
            of_customer.and_then(|customer| self.by_customer.get_mut(customer)),
        ];
        sums.into_iter().flatten().for_each(|sum| *sum = sum.wrapping_add(amount));
    }

    pub(super) fn in_warehouse(&self, warehouse: u32) -> i64 {
        self.by_warehouse.get((warehouse as usize).wrapping_sub(1)).copied().unwrap_or(0)
    }

    pub(super) fn in_district(&self, place: (u32, u8)) -> i64 {
        district(place).and_then(|place| self.by_district.get(place)).copied().unwrap_or(0)
    }

    pub(super) fn by_customer(&self, home: (u32, u8), number: u32) -> i64 {
        let place = self.customer(home, number);
        place.and_then(|place| self.by_customer.get(place)).copied().unwrap_or(0)
    }

    fn customer(&self, home: (u32, u8), number: u32) -> Option<usize> {
        let customers = self.scale.customers_per_district;
        let exists = (1..=customers).contains(&number);
        let place = district(home)? * customers as usize + number as usize;
        exists.then(|| place - 1)
    }
}

/// The place of a district among those of all warehouses.
fn district((warehouse, district): (u32, u8)) -> Option<usize> {
    let exists = warehouse > 0 && (1..=DISTRICTS).contains(&district);
    exists.then(|| (warehouse as usize - 1) * usize::from(DISTRICTS) + usize::from(district) - 1)
}
