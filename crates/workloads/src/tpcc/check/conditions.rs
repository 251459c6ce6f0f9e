//! The conditions. Each is a function of the facts that returns a description of a fault, or
//! `None`.
//!
//! The specification's conditions cover existing rows; [`rows_of_district`] and
//! [`rows_of_warehouse`] report required rows that are missing.

use super::facts::{DistrictFacts, NameEntry, OrderFacts, WarehouseFacts};

/// The number of the condition about the indexes.
const INDEXES: u8 = 13;
/// The number of the condition about the stock.
const STOCK: u8 = 14;
/// The number of the condition about rows that must always be there.
pub(super) const ROWS: u8 = 15;

/// A condition about warehouses, after its number.
type OfWarehouse = (u8, fn(&WarehouseFacts) -> Option<String>);
/// A condition about districts and what is in them, after its number.
type OfDistrict = (u8, fn(&DistrictFacts) -> Option<String>);

pub(super) const OF_WAREHOUSE: [OfWarehouse; 4] =
    [(1, condition_1), (8, condition_8), (STOCK, stock), (ROWS, rows_of_warehouse)];

pub(super) const OF_DISTRICT: [OfDistrict; 12] = [
    (2, condition_2),
    (3, condition_3),
    (4, condition_4),
    (5, condition_5),
    (6, condition_6),
    (7, condition_7),
    (9, condition_9),
    (10, condition_10),
    (11, condition_11),
    (12, condition_12),
    (INDEXES, indexes),
    (ROWS, rows_of_district),
];

/// Reports `what` if the two differ.
fn differ<T: PartialEq + std::fmt::Display>(what: &str, left: T, right: T) -> Option<String> {
    (left != right).then(|| format!("{what}: {left} and {right}"))
}

/// The first of the faults, and how many more there are.
fn first(mut faults: impl Iterator<Item = String>) -> Option<String> {
    let first = faults.next()?;
    match faults.count() {
        0 => Some(first),
        more => Some(format!("{first}, and {more} more")),
    }
}

/// Clause 3.3.2.1: W_YTD = sum(D_YTD) for each warehouse.
fn condition_1(warehouse: &WarehouseFacts) -> Option<String> {
    differ("W_YTD and sum(D_YTD)", warehouse.ytd, warehouse.districts_ytd)
}

/// Clause 3.3.2.2: D_NEXT_O_ID - 1 = max(O_ID) = max(NO_O_ID) for each district. The latter does
/// not apply to a district without new-order rows.
fn condition_2(district: &DistrictFacts) -> Option<String> {
    let newest = district.orders.last().map_or(0, |order| order.number);
    let next = district.next_order;
    differ("D_NEXT_O_ID - 1 and max(O_ID)", next.wrapping_sub(1), newest).or_else(|| {
        let newest = district.new_orders.last()?;
        differ("D_NEXT_O_ID - 1 and max(NO_O_ID)", next.wrapping_sub(1), *newest)
    })
}

/// Clause 3.3.2.3: max(NO_O_ID) - min(NO_O_ID) + 1 = rows in NEW-ORDER, for each district that has
/// any.
fn condition_3(district: &DistrictFacts) -> Option<String> {
    let (oldest, newest) = (district.new_orders.first()?, district.new_orders.last()?);
    let span = u64::from(newest - oldest) + 1;
    let rows = district.new_orders.len() as u64;
    differ("max(NO_O_ID) - min(NO_O_ID) + 1 and rows in NEW-ORDER", span, rows)
}

/// Clause 3.3.2.4: sum(O_OL_CNT) = rows in ORDER-LINE, for each district.
fn condition_4(district: &DistrictFacts) -> Option<String> {
    let lines = district.orders.iter().map(|order| u64::from(order.lines)).sum();
    differ("sum(O_OL_CNT) and rows in ORDER-LINE", lines, district.line_rows)
}

/// Clause 3.3.2.5: an order's O_CARRIER_ID is null if and only if it has a row in NEW-ORDER. (Nor
/// is there a new-order row without its order.)
fn condition_5(district: &DistrictFacts) -> Option<String> {
    let is_new = |number: u32| district.new_orders.binary_search(&number).is_ok();
    let is_off = |order: &&OrderFacts| (order.carrier == 0) != is_new(order.number);
    let off = district.orders.iter().filter(is_off).map(|order| {
        let carrier = order.carrier;
        format!("order {} has carrier {carrier}, new: {}", order.number, is_new(order.number))
    });
    let exists =
        |number: &u32| district.orders.binary_search_by_key(number, |order| order.number).is_ok();
    let orphans = district.new_orders.iter().filter(|number| !exists(number));
    first(off.chain(orphans.map(|number| format!("new order {number} is no order"))))
}

/// Clause 3.3.2.6: an order's O_OL_CNT is the number of its rows in ORDER-LINE.
fn condition_6(district: &DistrictFacts) -> Option<String> {
    let is_off = |order: &&OrderFacts| u32::from(order.lines) != order.line_rows;
    first(district.orders.iter().filter(is_off).map(|order| {
        format!("order {} has {} lines, not {}", order.number, order.line_rows, order.lines)
    }))
}

/// Clause 3.3.2.7: an order line's OL_DELIVERY_D is null if and only if its order's O_CARRIER_ID
/// is.
fn condition_7(district: &DistrictFacts) -> Option<String> {
    let what = "is delivered where its order is not, or not where it is";
    let off = district.lines_off.iter();
    first(off.map(|(order, line)| format!("line {line} of order {order} {what}")))
}

/// Clause 3.3.2.8: W_YTD = sum(H_AMOUNT) for each warehouse.
fn condition_8(warehouse: &WarehouseFacts) -> Option<String> {
    differ("W_YTD and sum(H_AMOUNT)", warehouse.ytd, warehouse.paid)
}

/// Clause 3.3.2.9: D_YTD = sum(H_AMOUNT) for each district.
fn condition_9(district: &DistrictFacts) -> Option<String> {
    differ("D_YTD and sum(H_AMOUNT)", district.ytd, district.paid)
}

/// Clause 3.3.2.10: C_BALANCE = sum(OL_AMOUNT) - sum(H_AMOUNT) for each customer, over the lines of
/// the customer's delivered orders and over the customer's payments.
fn condition_10(district: &DistrictFacts) -> Option<String> {
    first(district.customers.iter().filter_map(|customer| {
        let expected = customer.delivered.wrapping_sub(customer.paid);
        let what = format!("C_BALANCE of {} and the expected balance", customer.number);
        differ(&what, customer.balance, expected)
    }))
}

/// Clause 3.3.2.11: rows in ORDER - rows in NEW-ORDER = 2100 for each district. It is stated for
/// freshly loaded data; each delivery, which C_DELIVERY_CNT counts, adds one.
fn condition_11(district: &DistrictFacts) -> Option<String> {
    let delivered = district.orders.len() as i64 - district.new_orders.len() as i64;
    let at_first = district.scale.delivered_per_district();
    let counted = i64::from(at_first) + district.deliveries() as i64;
    let what = "rows in ORDER - rows in NEW-ORDER and orders counted as delivered";
    differ(what, delivered, counted)
}

/// Clause 3.3.2.12: C_BALANCE + C_YTD_PAYMENT = sum(OL_AMOUNT) for each customer, over the lines of
/// the customer's delivered orders.
fn condition_12(district: &DistrictFacts) -> Option<String> {
    first(district.customers.iter().filter_map(|customer| {
        let received = customer.balance.wrapping_add(customer.ytd_payment);
        let what =
            format!("C_BALANCE + C_YTD_PAYMENT of {} and the delivered lines", customer.number);
        differ(&what, received, customer.delivered)
    }))
}

/// Each customer and each order has one entry in its index, and there are no others.
fn indexes(district: &DistrictFacts) -> Option<String> {
    let customers = district.customers.iter();
    let mut names: Vec<NameEntry> =
        customers.map(|customer| (customer.last, customer.first, customer.number)).collect();
    names.sort_unstable();
    let orders = district.orders.iter();
    let mut customer_orders: Vec<(u32, u32)> =
        orders.map(|order| (order.customer, order.number)).collect();
    customer_orders.sort_unstable();
    if names != district.names {
        Some("the index of customers by name is not that of the customers".into())
    } else if customer_orders != district.customer_orders {
        Some("the index of orders by customer is not that of the orders".into())
    } else {
        None
    }
}

/// S_YTD, S_ORDER_CNT and S_REMOTE_CNT count what was ordered since the data were loaded.
fn stock(warehouse: &WarehouseFacts) -> Option<String> {
    first(warehouse.stock_off.iter().map(|(item, said, wanted)| {
        format!("stock of item {item} counts {said:?}, its lines {wanted:?}")
    }))
}

/// A warehouse has its row, and a stock row for each item.
fn rows_of_warehouse(warehouse: &WarehouseFacts) -> Option<String> {
    if !warehouse.exists {
        return Some("there is no warehouse row".into());
    }
    differ("rows in STOCK and items", warehouse.stock_rows, warehouse.items)
}

/// A district has its row, all of its customers, and the orders it began with.
fn rows_of_district(district: &DistrictFacts) -> Option<String> {
    if !district.exists {
        return Some("there is no district row".into());
    }
    let scale = district.scale;
    let customers = district.customers.len() as u64;
    differ("customers", customers, scale.customers_per_district.into()).or_else(|| {
        differ("orders loaded", district.loaded_orders(), scale.orders_per_district.into())
    })
}
