//! The examples' transactions, in each style, with the options that each is reordered with.

use clearway_reorder::{
    rewrite,
    verify::{self, Input},
    weights::{Costing, Objective},
};

/// A transaction in one style.
pub(crate) struct Style {
    /// The source, in the folder of the examples.
    pub(crate) file: &'static str,
    /// The DDL of its tables, in the same folder.
    pub(crate) tables: &'static str,
    /// The function, if the text alone does not show where the transaction begins.
    pub(crate) function: Option<&'static str>,
    /// The arrays whose elements differ from each other.
    distinct: &'static [&'static str],
    /// Limits the inputs, and sets up the connection.
    pub(crate) limits: fn(&mut verify::Options<'_>),
    /// Parts of the text as the tool leaves it with all options, in their order, with ` < ` between
    /// them; empty if it changes nothing.
    order: &'static str,
}

impl Style {
    pub(crate) fn is_mariadb(&self) -> bool {
        self.file.contains("/mariadb/")
    }

    /// Asserts that the text that the tool makes of `source` with all options has the order.
    pub(crate) fn assert_order(&self, source: &str, text: &str) {
        assert_eq!(self.order.is_empty(), source == text, "{}: {text}", self.file);
        let mut from = 0;
        for part in self.order.split(" < ") {
            let at = text[from..].find(part);
            from += at.unwrap_or_else(|| {
                panic!("{}: `{part}` is not behind the others: {text}", self.file)
            });
        }
    }

    /// Returns the options of a user who states nothing.
    pub(crate) fn plain(&self) -> rewrite::Options {
        let function = self.function.map(str::to_owned);
        rewrite::Options { function, ..rewrite::Options::default() }
    }

    /// The same where only the order may change, which takes the tool less time.
    pub(crate) fn order_only(&self) -> rewrite::Options {
        rewrite::Options { no_split: true, no_rename: true, ..self.plain() }
    }

    /// Returns the options of the experiments: reads of different rows change places, and some
    /// arrays have elements that differ.
    pub(crate) fn full(&self) -> rewrite::Options {
        let distinct = self.distinct.iter().map(|&name| name.to_owned()).collect();
        rewrite::Options { distinct, relaxed_reads: true, ..self.plain() }
    }

    /// Returns the options with which it is reordered if time does not matter: each also by the
    /// order of the queries alone, without their weights over time.
    pub(crate) fn all_options(&self) -> Vec<rewrite::Options> {
        let by_position = |options: &rewrite::Options| {
            let costing = Costing { objective: Objective::Position, ..Costing::default() };
            rewrite::Options { costing, ..options.clone() }
        };
        let both = [self.plain(), self.full()];
        both.iter().map(by_position).chain(both.iter().cloned()).collect()
    }
}

fn range(least: i64, greatest: i64) -> Input {
    Input { range: Some((least, greatest)), ..Input::default() }
}

fn limit(options: &mut verify::Options<'_>, input: &str, least: i64, greatest: i64) {
    options.inputs.insert(input.to_owned(), range(least, greatest));
}

fn none(_: &mut verify::Options<'_>) {}

fn prepared(options: &mut verify::Options<'_>) {
    options.setup.push("payment_prepare".to_owned());
}

fn few_lines(options: &mut verify::Options<'_>) {
    limit(options, "in.ol_cnt", 1, 3);
}

/// With few seeds, no order meets all of its conditions.
fn many_orders(options: &mut verify::Options<'_>) {
    options.seeds = 12;
}

/// Limits the loops of a trade update. Numbers out of many differ.
fn few_trades(options: &mut verify::Options<'_>) {
    limit(options, "in.max_trades", 0, 3);
    limit(options, "in.max_updates", 0, 3);
    limit(options, "in.trade_id", 1, 1_000_000_000);
}

/// Bids below and above the highest bid. With few seeds, each user is blocked or each auction is
/// closed.
fn bids(options: &mut verify::Options<'_>) {
    limit(options, "in.amount", 0, 40);
    options.seeds = 12;
}

const TPCC: Style = Style {
    file: "",
    tables: "tpcc/schema.sql",
    function: None,
    distinct: &[],
    limits: none,
    order: "",
};
const TPCC_MARIADB: Style = Style { tables: "tpcc/schema-mysql.sql", ..TPCC };
const TPCE: Style = Style { tables: "tpce/schema.sql", ..TPCC };
const TPCE_MARIADB: Style = Style { tables: "tpce/schema-mysql.sql", ..TPCC };
const UPDATE: Style = Style { distinct: &["trade_id"], limits: few_trades, ..TPCE };
const UPDATE_MARIADB: Style = Style { tables: TPCE_MARIADB.tables, ..UPDATE };
const BID: Style = Style { tables: "bidding/schema.sql", limits: bids, ..TPCC };
const PLAIN_BID: Style = Style { tables: "bidding/schema-plain.sql", ..BID };
const BID_MARIADB: Style = Style { tables: "bidding/schema-mysql.sql", ..BID };
const PLAIN_BID_MARIADB: Style = Style { tables: "bidding/schema-mysql-plain.sql", ..BID };

/// All styles of all transactions. A bid also without foreign keys, as in the benchmark.
pub(crate) static ALL: &[Style] = &[
    Style {
        file: "tpcc/payment_params.c",
        order: "FROM warehouse < UPDATE customer < INTO history < UPDATE district < \
                UPDATE warehouse < COMMIT",
        ..TPCC
    },
    Style {
        file: "tpcc/payment_text.c",
        order: "FROM warehouse < UPDATE customer < UPDATE district < UPDATE warehouse < COMMIT",
        ..TPCC
    },
    Style {
        file: "tpcc/payment_prepared.c",
        limits: prepared,
        order: "PQexecPrepared(conn, \"get_warehouse\" < \"pay_customer\" < \"pay_district\" < \
                \"pay_warehouse\" < COMMIT",
        ..TPCC
    },
    Style { file: "tpcc/payment_procedure.c", function: Some("payment"), ..TPCC },
    Style {
        file: "tpcc/new_order_params.c",
        limits: few_lines,
        order: "dist_info_at[15][25]; < FROM item < UPDATE stock < FROM district < INTO orders < \
                INTO order_line < COMMIT",
        ..TPCC
    },
    Style { file: "tpcc/order_status.c", ..TPCC },
    Style {
        file: "tpcc/delivery.c",
        order: "continue; < DELETE FROM new_order < ] = 1; < if (!reached_at < sum(ol_amount) < \
                UPDATE orders < if (!reached_at < UPDATE customer < COMMIT",
        ..TPCC
    },
    Style { file: "tpcc/stock_level.c", ..TPCC },
    Style {
        file: "tpcc/mariadb/payment_text.c",
        order: "FROM warehouse < UPDATE customer < UPDATE district < INTO history < \
                UPDATE warehouse < COMMIT",
        ..TPCC_MARIADB
    },
    Style {
        file: "tpcc/mariadb/payment_prepared.c",
        limits: prepared,
        order: "[GET_WAREHOUSE]; < [PAY_CUSTOMER]; < [PAY_DISTRICT]; < [ADD_HISTORY]; < \
                [PAY_WAREHOUSE]; < mysql_commit",
        ..TPCC_MARIADB
    },
    Style {
        file: "tpcc/mariadb/payment_worst.c",
        order: "FROM warehouse < UPDATE customer < UPDATE district < UPDATE warehouse < COMMIT",
        ..TPCC_MARIADB
    },
    Style { file: "tpcc/mariadb/payment_procedure.c", function: Some("payment"), ..TPCC_MARIADB },
    Style {
        file: "tpcc/mariadb/new_order.c",
        limits: few_lines,
        order: "FROM item < UPDATE stock < FROM district < UPDATE district < INTO orders < \
                INTO order_line < COMMIT",
        ..TPCC_MARIADB
    },
    Style { file: "tpcc/mariadb/order_status.c", ..TPCC_MARIADB },
    Style {
        file: "tpcc/mariadb/delivery.c",
        order: "DELETE FROM new_order < ] = 1; < if (!reached_at < UPDATE orders < \
                if (!reached_at < UPDATE customer < COMMIT",
        ..TPCC_MARIADB
    },
    Style { file: "tpcc/mariadb/stock_level.c", ..TPCC_MARIADB },
    Style { file: "tpce/trade_order.c", limits: many_orders, ..TPCE },
    Style {
        file: "tpce/trade_result.c",
        order: "INTO settlement < UPDATE customer_account < UPDATE trade < UPDATE broker < COMMIT",
        ..TPCE
    },
    Style { file: "tpce/trade_status.c", ..TPCE },
    Style { file: "tpce/trade_update.c", ..UPDATE },
    Style {
        file: "tpce/trade_update_once.c",
        order: "FROM settlement < FROM trade_history < UPDATE trade < COMMIT",
        ..UPDATE
    },
    Style {
        file: "tpce/trade_update_account.c",
        order: "FROM cash_transaction < FROM trade_history < UPDATE settlement < COMMIT",
        ..UPDATE
    },
    Style { file: "tpce/mariadb/trade_order.c", limits: many_orders, ..TPCE_MARIADB },
    Style {
        file: "tpce/mariadb/trade_result.c",
        order: "UPDATE trade < INTO settlement < UPDATE customer_account < UPDATE broker < COMMIT",
        ..TPCE_MARIADB
    },
    Style { file: "tpce/mariadb/trade_status.c", ..TPCE_MARIADB },
    Style { file: "tpce/mariadb/trade_update.c", ..UPDATE_MARIADB },
    Style {
        file: "tpce/mariadb/trade_update_once.c",
        order: "FROM settlement < FROM trade_history < UPDATE trade < COMMIT",
        ..UPDATE_MARIADB
    },
    Style { file: "tpce/mariadb/trade_update_account.c", ..UPDATE_MARIADB },
    Style {
        file: "bidding/bid.c",
        order: "FROM bidder < FROM item < UPDATE item < INTO bid  < COMMIT",
        ..BID
    },
    Style {
        file: "bidding/bid.c",
        order: "FROM bidder < INTO bid  < FROM item < UPDATE item < COMMIT",
        ..PLAIN_BID
    },
    Style {
        file: "bidding/bid_guarded.c",
        order: "FROM bidder < INTO bid  < UPDATE item < UPDATE bidder < COMMIT",
        ..BID
    },
    Style {
        file: "bidding/bid_guarded.c",
        order: "FROM bidder < INTO bid  < UPDATE item < UPDATE bidder < COMMIT",
        ..PLAIN_BID
    },
    Style {
        file: "bidding/mariadb/bid.c",
        order: "FROM bidder < FROM item < UPDATE item < INTO bid  < COMMIT",
        ..BID_MARIADB
    },
    Style {
        file: "bidding/mariadb/bid.c",
        order: "FROM bidder < INTO bid  < FROM item < UPDATE item < COMMIT",
        ..PLAIN_BID_MARIADB
    },
    Style {
        file: "bidding/mariadb/bid_guarded.c",
        order: "FROM bidder < UPDATE item < UPDATE bidder < INTO bid  < COMMIT",
        ..BID_MARIADB
    },
    Style {
        file: "bidding/mariadb/bid_guarded.c",
        order: "FROM bidder < INTO bid  < UPDATE item < UPDATE bidder < COMMIT",
        ..PLAIN_BID_MARIADB
    },
];

/// The sources of the examples that have no transaction to reorder: the driver, the loaders.
pub(crate) static OTHERS: &[&str] = &[
    "batch.c",
    "client_libpq.c",
    "client_mariadb.c",
    "driver.c",
    "proxy.c",
    "statement.c",
    "bidding/load.c",
    "bidding/workload.c",
    "tpcc/check.c",
    "tpcc/load.c",
    "tpcc/random.c",
    "tpcc/workload.c",
    "tpce/load.c",
    "tpce/workload.c",
];
