//! A brokerage, in the DDL of two servers: keys and references of both are the same, and so is what
//! queries do.

use super::*;

/// The tables, with `KIND` for an automatic number, as a person writes them.
const DDL: &str = "
    CREATE TABLE broker (b_id KIND, b_name varchar(49) NOT NULL, b_trades integer NOT NULL,
        b_commission numeric(12,2) NOT NULL, PRIMARY KEY (b_id));
    CREATE TABLE customer_account (ca_id KIND, ca_b_id bigint NOT NULL, ca_c_id bigint NOT NULL,
        ca_balance numeric(12,2) NOT NULL DEFAULT 0, PRIMARY KEY (ca_id),
        FOREIGN KEY (ca_b_id) REFERENCES broker (b_id));
    CREATE TABLE security (s_symb varchar(15) NOT NULL PRIMARY KEY, s_name varchar(70));
    CREATE TABLE last_trade (lt_s_symb varchar(15) NOT NULL, lt_price numeric(8,2) NOT NULL,
        lt_volume bigint NOT NULL, PRIMARY KEY (lt_s_symb),
        FOREIGN KEY (lt_s_symb) REFERENCES security (s_symb));
    CREATE TABLE trade (t_id KIND, t_when timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
        t_status char(4) NOT NULL, t_s_symb varchar(15) NOT NULL, t_ca_id bigint NOT NULL,
        t_quantity integer NOT NULL, t_price numeric(8,2), PRIMARY KEY (t_id),
        CHECK (t_quantity > 0),
        FOREIGN KEY (t_s_symb) REFERENCES security (s_symb),
        FOREIGN KEY (t_ca_id) REFERENCES customer_account (ca_id));
    CREATE TABLE trade_history (th_t_id bigint NOT NULL, th_status char(4) NOT NULL,
        th_when timestamp NOT NULL, PRIMARY KEY (th_t_id, th_status),
        FOREIGN KEY (th_t_id) REFERENCES trade (t_id) ON DELETE CASCADE);
    CREATE TABLE holding_summary (hs_ca_id bigint NOT NULL, hs_s_symb varchar(15) NOT NULL,
        hs_quantity integer NOT NULL, PRIMARY KEY (hs_ca_id, hs_s_symb),
        FOREIGN KEY (hs_ca_id) REFERENCES customer_account (ca_id),
        FOREIGN KEY (hs_s_symb) REFERENCES security (s_symb));
    CREATE VIEW open_trade AS SELECT t_id, ca_b_id FROM trade, customer_account
        WHERE t_ca_id = ca_id AND t_status = 'OPEN';";

fn brokerage(server: Server) -> Schema {
    let number = match server {
        Server::Mysql => "bigint NOT NULL AUTO_INCREMENT",
        _ => "bigserial NOT NULL",
    };
    schema::parse(&DDL.replace("KIND", number), server).expect("the DDL is understood")
}

/// The queries, with `$N` for the parameters, and what they do.
const QUERIES: &[(&str, &str)] = &[
    (
        "SELECT ca_balance, b_name FROM customer_account JOIN broker ON b_id = ca_b_id \
         WHERE ca_id = $1",
        "Read, 1 parameters, returns rows, depends on rows broker: reads b_id,b_name \
         customer_account: reads ca_b_id,ca_balance,ca_id equal ca_id=#0",
    ),
    (
        "UPDATE last_trade SET lt_price = $1, lt_volume = lt_volume + $2 WHERE lt_s_symb = $3",
        "Write, 3 parameters last_trade: reads lt_s_symb,lt_volume writes lt_price,lt_volume \
         equal lt_s_symb=#2",
    ),
    (
        "INSERT INTO trade (t_status, t_s_symb, t_ca_id, t_quantity) VALUES ('OPEN', $1, $2, $3)",
        "Write, 3 parameters, current_timestamp(), nextval() trade: inserts \
         equal t_ca_id=#1,t_quantity=#2,t_s_symb=#0,t_status='OPEN'",
    ),
    (
        "SELECT count(*) FROM trade t, trade_history h WHERE t.t_id = h.th_t_id AND t_ca_id = $1",
        "Read, 1 parameters, returns rows, depends on rows, count() \
         trade: reads t_ca_id,t_id equal t_ca_id=#0 trade_history: reads th_t_id",
    ),
    (
        "UPDATE broker SET b_trades = b_trades + 1, b_commission = b_commission + $1 \
         WHERE b_id = (SELECT ca_b_id FROM customer_account WHERE ca_id = $2)",
        "Write, 2 parameters, depends on rows \
         broker: reads b_commission,b_id,b_trades writes b_commission,b_trades \
         customer_account: LOCKSreads ca_b_id,ca_id equal ca_id=#1",
    ),
    (
        "SELECT hs_quantity FROM holding_summary WHERE hs_ca_id = $1 AND hs_s_symb = $2 FOR UPDATE",
        "Write, 2 parameters, returns rows, depends on rows holding_summary: locks \
         reads hs_ca_id,hs_quantity,hs_s_symb equal hs_ca_id=#0,hs_s_symb=#1",
    ),
    (
        "DELETE FROM holding_summary WHERE hs_ca_id = $1 AND hs_quantity = 0",
        "Write, 1 parameters holding_summary: deletes reads hs_ca_id,hs_quantity \
         equal hs_ca_id=#0,hs_quantity=0",
    ),
    (
        "SELECT t_id FROM open_trade WHERE ca_b_id = $1",
        "Read, 1 parameters, returns rows, depends on rows open_trade: reads *",
    ),
    (
        "SELECT s_symb FROM security s WHERE EXISTS (SELECT 1 FROM holding_summary \
         WHERE hs_s_symb = s.s_symb AND hs_ca_id IN (SELECT ca_id FROM customer_account))",
        "Read, 0 parameters, returns rows, depends on rows customer_account: reads ca_id \
         holding_summary: reads hs_ca_id,hs_s_symb security: reads s_symb",
    ),
];

#[test]
fn queries_do_the_same_on_both_servers_and_report_each_table_that_they_name() {
    for server in [Server::Postgresql, Server::Mysql] {
        let schema = brokerage(server);
        for (text, expected) in QUERIES {
            let (mut text, mut locks) = ((*text).to_owned(), "");
            if server == Server::Mysql {
                (1..9).for_each(|number| text = text.replace(&format!("${number}"), "?"));
                locks = "locks without holding ";
            }
            let query =
                analyze(&text, server, &schema).unwrap_or_else(|bad| panic!("{text}: {bad}"));
            let does: Vec<String> =
                describe(&query).split_whitespace().map(str::to_owned).collect();
            assert_eq!(does.join(" "), expected.replace("LOCKS", locks), "{server:?} {text}");
            assert_eq!(query.tables.keys().collect::<BTreeSet<_>>(), named(&text, &schema));
        }
    }
}

#[test]
fn keys_and_references_are_the_same_on_both_servers() {
    let [one, other] = [Server::Postgresql, Server::Mysql].map(brokerage);
    assert_eq!(one.tables.len(), 7);
    for (name, table) in &one.tables {
        let same = &other.tables[name];
        assert_eq!(table.primary_key, same.primary_key, "{name}");
        assert_eq!(table.foreign_keys, same.foreign_keys, "{name}");
        assert_eq!(table.checks, same.checks, "{name}");
    }
    assert_eq!(one.views, other.views);
    let columns = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    assert!(one.is_key("holding_summary", &columns(&["hs_ca_id", "hs_s_symb"])));
    assert!(!one.is_key("holding_summary", &columns(&["hs_ca_id"])));
    assert_eq!(one.referencing_count("security"), 4);
    assert_eq!(one.referencing_count("broker"), 4);
    assert_eq!(one.references("trade", "security").len(), 1);
    assert_eq!(one.references("open_trade", "broker").len(), 1);
}
