//! The transactions that are compared, and their data.

use std::path::PathBuf;

/// A database system.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum System {
    MariaDb,
    Postgres,
}

impl System {
    /// Returns the name for people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            System::MariaDb => "MariaDB",
            System::Postgres => "PostgreSQL",
        }
    }

    /// Returns the name of the interface's model.
    pub(super) fn api(self) -> &'static str {
        match self {
            System::MariaDb => "mysql",
            System::Postgres => "libpq",
        }
    }
}

/// The data of a database; transactions on the same data share it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Data {
    Tpcc,
    Tpce,
    Bidding,
}

impl Data {
    /// Returns the file with the tables, in the folder of the examples.
    pub(super) fn schema(self, system: System) -> &'static str {
        match (self, system) {
            (Data::Tpcc, System::MariaDb) => "tpcc/schema-mysql.sql",
            (Data::Tpcc, System::Postgres) => "tpcc/schema.sql",
            (Data::Tpce, System::MariaDb) => "tpce/schema-mysql.sql",
            (Data::Tpce, System::Postgres) => "tpce/schema.sql",
            // Without foreign keys, as in the benchmark.
            (Data::Bidding, System::MariaDb) => "bidding/schema-mysql-plain.sql",
            (Data::Bidding, System::Postgres) => "bidding/schema-plain.sql",
        }
    }

    /// Returns the name of the loader.
    pub(super) fn loader(self) -> &'static str {
        match self {
            Data::Tpcc => "load",
            Data::Tpce => "tpce_load",
            Data::Bidding => "bidding_load",
        }
    }

    /// Returns the driver's setting for the number of rows that all clients share, and the unit.
    pub(super) fn size_name(self) -> &'static str {
        match self {
            Data::Tpcc => "warehouses",
            Data::Tpce => "trades",
            Data::Bidding => "items",
        }
    }

    /// Returns the name of a point with `size` shared rows.
    pub(crate) fn point(self, size: u32) -> String {
        let name = self.size_name();
        let name = if size == 1 { name.trim_end_matches('s') } else { name };
        format!("{size} {name}")
    }
}

/// The sizes of the databases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Scale {
    pub(crate) warehouses: u32,
    /// The customers of each district.
    pub(crate) customers: u32,
    /// The items of TPC-C: 100,000 in the specification. With fewer, transactions wait for each
    /// other's stock.
    pub(crate) items: u32,
    pub(crate) trades: u32,
}

/// The items of the auction's database.
const BIDDING_ITEMS: u32 = 1000;

impl Scale {
    /// Returns the largest number of shared rows that a database of this size has.
    pub(crate) fn most(self, data: Data) -> u32 {
        match data {
            Data::Tpcc => self.warehouses,
            Data::Tpce => self.trades,
            Data::Bidding => BIDDING_ITEMS,
        }
    }

    /// Returns the loader's arguments behind the schema.
    pub(super) fn arguments(self, data: Data) -> Vec<String> {
        let numbers: &[u32] = match data {
            Data::Tpcc => &[self.warehouses, self.customers, self.items],
            Data::Tpce => &[1000, self.trades],
            Data::Bidding => &[BIDDING_ITEMS],
        };
        numbers.iter().map(u32::to_string).collect()
    }
}

/// Transactions that run together.
#[derive(Debug)]
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) data: Data,
    /// The sources, in the folder of the examples.
    mariadb: &'static [&'static str],
    postgres: &'static [&'static str],
    /// The driver's mix; the specification's proportions if it is empty.
    pub(super) mix: &'static str,
    /// The arrays whose elements differ from each other, for the tool.
    pub(super) distinct: &'static [&'static str],
    /// The numbers of shared rows, the highest contention first.
    pub(crate) sizes: [u32; 4],
}

impl Workload {
    pub(super) fn sources(&self, system: System) -> &'static [&'static str] {
        match system {
            System::MariaDb => self.mariadb,
            System::Postgres => self.postgres,
        }
    }

    /// Returns the sizes of a grid on a database of a scale: all of them, or without the second.
    pub(crate) fn contention(&self, full: bool, scale: Scale) -> Vec<u32> {
        let is_chosen = |&(at, _): &(usize, &u32)| full || at != 1;
        let chosen = self.sizes.iter().enumerate().filter(is_chosen);
        chosen.map(|(_, &size)| size.min(scale.most(self.data))).collect()
    }
}

/// The numbers of warehouses, of trades and of auctioned items.
const WAREHOUSES: [u32; 4] = [1, 2, 4, 16];
const TRADES: [u32; 4] = [1_000, 4_000, 16_000, 64_000];
const ITEMS: [u32; 4] = [1, 4, 16, 256];

pub(crate) static PAYMENT: Workload = Workload {
    name: "payment",
    data: Data::Tpcc,
    mariadb: &["tpcc/mariadb/payment_text.c"],
    postgres: &["tpcc/payment_params.c"],
    mix: "",
    distinct: &[],
    sizes: WAREHOUSES,
};
/// The same in the order in which the contended rows are locked first.
pub(crate) static WORST_PAYMENT: Workload =
    Workload { name: "worst payment", mariadb: &["tpcc/mariadb/payment_worst.c"], ..PAYMENT };
/// The same as one call of a stored procedure.
pub(crate) static PAYMENT_PROCEDURE: Workload = Workload {
    name: "payment procedure",
    mariadb: &["tpcc/mariadb/payment_procedure.c"],
    postgres: &["tpcc/payment_procedure.c"],
    ..PAYMENT
};
pub(crate) static NEW_ORDER: Workload = Workload {
    name: "new order",
    mariadb: &["tpcc/mariadb/new_order.c"],
    postgres: &["tpcc/new_order_params.c"],
    ..PAYMENT
};
pub(crate) static BOTH: Workload = Workload {
    name: "payment and new order",
    mariadb: &["tpcc/mariadb/payment_text.c", "tpcc/mariadb/new_order.c"],
    postgres: &["tpcc/payment_params.c", "tpcc/new_order_params.c"],
    mix: "payment:50,new_order:50",
    ..PAYMENT
};
pub(crate) static STANDARD_MIX: Workload = Workload {
    name: "standard mix",
    mariadb: &[
        "tpcc/mariadb/payment_text.c",
        "tpcc/mariadb/new_order.c",
        "tpcc/mariadb/order_status.c",
        "tpcc/mariadb/delivery.c",
        "tpcc/mariadb/stock_level.c",
    ],
    postgres: &[
        "tpcc/payment_params.c",
        "tpcc/new_order_params.c",
        "tpcc/order_status.c",
        "tpcc/delivery.c",
        "tpcc/stock_level.c",
    ],
    ..PAYMENT
};
pub(crate) static TRADE_UPDATE: Workload = Workload {
    name: "trade update",
    data: Data::Tpce,
    mariadb: &["tpce/mariadb/trade_update_once.c"],
    postgres: &["tpce/trade_update_once.c"],
    mix: "",
    distinct: &["trade_id"],
    sizes: TRADES,
};
pub(crate) static TRADE_ORDER: Workload = Workload {
    name: "trade order",
    mariadb: &["tpce/mariadb/trade_order.c"],
    postgres: &["tpce/trade_order.c"],
    ..TRADE_UPDATE
};
pub(crate) static ORDER_AND_RESULT: Workload = Workload {
    name: "trade order and result",
    mariadb: &["tpce/mariadb/trade_order.c", "tpce/mariadb/trade_result.c"],
    postgres: &["tpce/trade_order.c", "tpce/trade_result.c"],
    ..TRADE_UPDATE
};
pub(crate) static TRADE_STATUS: Workload = Workload {
    name: "trade status",
    mariadb: &["tpce/mariadb/trade_status.c"],
    postgres: &["tpce/trade_status.c"],
    ..TRADE_UPDATE
};
pub(crate) static BIDDING: Workload = Workload {
    name: "bidding",
    data: Data::Bidding,
    mariadb: &["bidding/mariadb/bid_guarded.c"],
    postgres: &["bidding/bid_guarded.c"],
    mix: "",
    distinct: &[],
    sizes: ITEMS,
};
/// The same with a read that locks the item.
pub(crate) static LOCKED_BIDDING: Workload = Workload {
    name: "bidding with a locking read",
    mariadb: &["bidding/mariadb/bid.c"],
    postgres: &["bidding/bid.c"],
    ..BIDDING
};

/// Returns the folder of the examples.
pub(crate) fn examples() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../reorder/examples")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_of_the_workloads_exist() {
        let workloads = [
            &PAYMENT,
            &WORST_PAYMENT,
            &PAYMENT_PROCEDURE,
            &NEW_ORDER,
            &BOTH,
            &STANDARD_MIX,
            &TRADE_UPDATE,
            &TRADE_ORDER,
            &ORDER_AND_RESULT,
            &TRADE_STATUS,
            &BIDDING,
            &LOCKED_BIDDING,
        ];
        for workload in workloads {
            for system in [System::MariaDb, System::Postgres] {
                let files = workload.sources(system).iter().copied();
                for file in files.chain([workload.data.schema(system)]) {
                    assert!(examples().join(file).exists(), "{file}");
                }
            }
        }
    }

    #[test]
    fn contention_falls_from_point_to_point() {
        let scale =
            |warehouses| Scale { warehouses, customers: 600, items: 100_000, trades: 64_000 };
        assert_eq!(PAYMENT.contention(false, scale(16)), [1, 4, 16]);
        assert_eq!(PAYMENT.contention(true, scale(16)), WAREHOUSES);
        assert_eq!(PAYMENT.contention(false, scale(8)), [1, 4, 8]);
        assert_eq!(Data::Tpcc.point(1), "1 warehouse");
        assert_eq!(Data::Tpce.point(1000), "1000 trades");
    }
}
