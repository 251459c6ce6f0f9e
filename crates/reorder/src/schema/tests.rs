//! Tests of the schema.

use super::*;

/// Returns the schema of a DDL file.
fn read(ddl: &str, server: Server) -> Schema {
    parse(ddl, server).unwrap_or_else(|bad| panic!("{bad}"))
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn base_tables_are_those_below_views_and_above_partitions() {
    let schema = read(
        "CREATE TABLE a (x int, k int) PARTITION BY RANGE (x);
         CREATE TABLE a1 PARTITION OF a FOR VALUES FROM (1) TO (9);
         CREATE TABLE b (y int);
         CREATE VIEW v AS SELECT x, y FROM a1, b;
         CREATE VIEW w AS SELECT y FROM v;",
        Server::Postgresql,
    );
    assert_eq!(schema.base_tables("w"), set(&["a", "b"]));
    assert_eq!(schema.base_tables("a1"), set(&["a"]));
    assert_eq!(schema.base_tables("elsewhere"), set(&["elsewhere"]));
}

#[test]
fn unique_index_of_an_unknown_table_is_an_error() {
    let ddl = "CREATE TABLE t (a int);\nCREATE UNIQUE INDEX i ON u (a);";
    let bad = parse(ddl, Server::Postgresql).expect_err("the table is unknown");
    assert_eq!(bad.line, 2);
    assert!(bad.message.contains("there is no table `u`: put its DDL first"), "{bad}");
}

/// A dump of PostgreSQL, with what stands in one besides tables.
const DUMP: &str = "
SET search_path = public;
SELECT pg_catalog.set_config('search_path', '', false);
CREATE FUNCTION public.log_pay() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO log (what) VALUES ('a;b');
    RETURN NEW;
END $$;
CREATE TABLE public.account (
    id bigint NOT NULL,
    owner character varying(20) DEFAULT 'x; y'::character varying,
    tags integer[] DEFAULT ARRAY[1, 2],
    balance numeric(12,2) DEFAULT 0 CHECK (balance >= (0)::numeric),
    CONSTRAINT positive CHECK ((balance > (0)::numeric))
);
ALTER TABLE public.account OWNER TO someone;
CREATE SEQUENCE public.account_id_seq START WITH 1;
CREATE TABLE public.log (id integer GENERATED ALWAYS AS IDENTITY, what text, account bigint);
COPY public.log (id, what) FROM stdin;
1\tCREATE TABLE nothing (;
\\.
ALTER TABLE ONLY public.account ALTER COLUMN id SET DEFAULT nextval('account_id_seq'::regclass);
ALTER TABLE ONLY public.account ADD CONSTRAINT account_pkey PRIMARY KEY (id);
CREATE UNIQUE INDEX account_owner ON public.account USING btree (owner) WHERE (balance > 0);
ALTER TABLE ONLY public.log
    ADD CONSTRAINT log_account FOREIGN KEY (account) REFERENCES public.account(id)
    ON DELETE CASCADE;
CREATE TRIGGER pay AFTER UPDATE OF balance ON public.account
    FOR EACH ROW EXECUTE FUNCTION public.log_pay();
";

#[test]
fn dump_of_postgresql_is_understood() {
    let schema = read(DUMP, Server::Postgresql);
    let names: Vec<&String> = schema.tables.keys().collect();
    assert_eq!(names, ["account", "log"]);
    let account = &schema.tables["account"];
    let key = |name: &str, column: &str, partial| Key {
        name: Some(name.to_owned()),
        columns: vec![column.to_owned()],
        partial,
    };
    assert_eq!(account.primary_key, Some(key("account_pkey", "id", false)));
    assert_eq!(account.unique, [key("account_owner", "owner", true)]);
    assert_eq!(account.checks, 2);
    let id = account.column("id").expect("the column is there");
    assert!(id.numbered && id.not_null && id.ty == "bigint", "{id:?}");
    assert_eq!(account.column("owner").expect("it is there").ty, "character varying(20)");
    assert_eq!(account.column("tags").expect("it is there").ty, "integer[]");
    assert!(schema.tables["log"].column("id").expect("it is there").numbered);
    assert_eq!(schema.functions["log_pay"], Tables::Some(set(&["log"])));
    assert_eq!(
        schema.triggers,
        [Trigger {
            name: "pay".to_owned(),
            table: "account".to_owned(),
            events: BTreeSet::from([Event::Update]),
            touches: Tables::Some(set(&["log"])),
            reads: Tables::Some(set(&[])),
            changes: Tables::Some(set(&["log"])),
            assigns: Columns::default(),
            // By the default of `log.id`.
            functions: BTreeSet::from(["nextval".to_owned()]),
        }]
    );
    let references = schema.references("account", "log");
    let [Reference { child: "log", key }] = references[..] else { panic!("{references:?}") };
    assert_eq!(key.referred, ["id"]);
    assert_eq!((key.on_delete, key.on_update), (Action::Cascade, Action::Refuse));
    assert_eq!(schema.referencing_count("account"), 1);
    assert_eq!(schema.consequences("account", Event::Delete), Tables::Some(set(&["log"])));
    assert_eq!(schema.consequences("account", Event::Insert), Tables::Some(set(&[])));
}

#[test]
fn dump_of_mysql_is_understood() {
    let schema = read(
        "-- MariaDB dump
/*!40101 SET @saved = @@character_set_client */;
DROP TABLE IF EXISTS `Orders`;
CREATE TABLE `Orders` (
  `Id` int(11) NOT NULL AUTO_INCREMENT,
  `code` varchar(9) COLLATE utf8_bin DEFAULT 'a\\';' COMMENT 'x, y',
  `item` int unsigned NOT NULL,
  `changed` timestamp NOT NULL DEFAULT current_timestamp() ON UPDATE current_timestamp(),
  PRIMARY KEY (`Id`),
  UNIQUE KEY `code` (`code`(4)),
  UNIQUE KEY `both` (`item`,`code`) USING BTREE,
  KEY `item` (`item`),
  CONSTRAINT `fk` FOREIGN KEY (`item`) REFERENCES `Item` (`id`) ON UPDATE SET NULL
) ENGINE=InnoDB AUTO_INCREMENT=7 DEFAULT CHARSET=utf8;
CREATE TABLE `Item` (`id` int unsigned NOT NULL PRIMARY KEY) ENGINE=InnoDB; DELIMITER ;;
/*!50003 CREATE*/ /*!50017 DEFINER=`root`@`localhost`*/ /*!50003 TRIGGER t BEFORE INSERT ON Orders
FOR EACH ROW BEGIN
  IF NEW.item > 1 THEN UPDATE Item SET id = 2; END IF;
END */;;
DELIMITER ;
",
        Server::Mysql,
    );
    let orders = &schema.tables["orders"];
    let names: Vec<&str> = orders.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["id", "code", "item", "changed"]);
    let partial: Vec<bool> = orders.keys().map(|key| key.partial).collect();
    assert_eq!(partial, [false, true, false]);
    assert_eq!(orders.unique[0].columns, ["code"]);
    assert!(orders.columns[0].numbered && orders.columns[3].on_update);
    assert_eq!(orders.foreign_keys[0].table, "item");
    assert_eq!(orders.foreign_keys[0].on_update, Action::SetNull);
    assert_eq!(
        schema.consequences("orders", Event::Insert),
        Tables::Some(set(&["item", "orders"]))
    );
}

#[test]
fn only_not_null_columns_of_whole_keys_identify_a_row() {
    let schema = read(
        "CREATE TABLE t (a int, b int NOT NULL, c int NOT NULL, d int, e int NOT NULL,
             PRIMARY KEY (a, b), UNIQUE (c), UNIQUE (d));
         CREATE UNIQUE INDEX i ON t (lower(e));
         CREATE TABLE heir (x int) INHERITS (u);
         CREATE TABLE u (k int PRIMARY KEY);",
        Server::Postgresql,
    );
    let is_key = |columns: &[&str]| schema.is_key("t", &set(columns));
    assert!(is_key(&["a", "b"]) && is_key(&["a", "b", "d"]) && is_key(&["c"]));
    assert!(!is_key(&["a"]) && !is_key(&["d"]) && !is_key(&["e"]) && !is_key(&[]));
    assert!(!schema.is_key("u", &set(&["k"])), "rows of `heir` may have the same value");
}

#[test]
fn sqlite_numbers_the_rows_of_an_integer_primary_key() {
    let schema = read(
        "CREATE TABLE a (id INTEGER PRIMARY KEY, [x y] text);
         CREATE TABLE b (id int PRIMARY KEY);
         CREATE TABLE c (id integer, PRIMARY KEY (id)) WITHOUT ROWID;
         CREATE TRIGGER g AFTER DELETE ON a BEGIN
             DELETE FROM b WHERE id = old.id;
             SELECT CASE WHEN 1 THEN raise(ABORT, 'no;') END;
         END;",
        Server::Sqlite,
    );
    let numbered = |table: &str| schema.tables[table].columns[0].numbered;
    assert!(numbered("a") && !numbered("b") && !numbered("c"));
    assert_eq!(schema.tables["a"].columns[1].name, "x y");
    assert_eq!(schema.consequences("a", Event::Delete), Tables::Some(set(&["b"])));
}

#[test]
fn bodies_that_are_not_understood_may_touch_all_tables() {
    let consequences = |function: &str| {
        let ddl = format!(
            "CREATE TABLE t (a int); CREATE TABLE u (a int);
             CREATE FUNCTION g() RETURNS int LANGUAGE sql AS 'SELECT a FROM u';
             CREATE FUNCTION f() RETURNS trigger {function};
             CREATE TRIGGER x AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION f();"
        );
        read(&ddl, Server::Postgresql).consequences("t", Event::Insert)
    };
    let some = |names| Tables::Some(set(names));
    assert_eq!(consequences("LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'x'; END $$"), Tables::All);
    assert_eq!(consequences("LANGUAGE plpython3u AS $$ pass $$"), Tables::All);
    assert_eq!(consequences("LANGUAGE sql AS $$ SELECT elsewhere() $$"), Tables::All);
    assert_eq!(consequences("LANGUAGE sql AS $$ SELECT g() $$"), some(&["u"]));
    assert_eq!(consequences("LANGUAGE plpgsql AS $$ BEGIN RETURN lower(''); END $$"), some(&[]));
}

#[test]
fn rules_and_triggers_of_triggers_count() {
    let schema = read(
        "CREATE TABLE a (x int); CREATE TABLE b (x int); CREATE TABLE c (x int);
         CREATE RULE r AS ON UPDATE TO a DO ALSO (DELETE FROM b WHERE x = 1;
             INSERT INTO public.b (x) VALUES (1));
         CREATE FUNCTION f() RETURNS trigger LANGUAGE sql AS 'INSERT INTO c VALUES (1)';
         CREATE TRIGGER t BEFORE DELETE ON b FOR EACH STATEMENT EXECUTE PROCEDURE f();",
        Server::Postgresql,
    );
    let Tables::Some(touched) = schema.consequences("a", Event::Update) else { panic!("all") };
    assert!(touched.is_superset(&set(&["b", "c"])), "{touched:?}");
    assert_eq!(schema.consequences("a", Event::Insert), Tables::Some(set(&[])));
    assert_eq!(schema.triggers_on("b", Event::Delete).len(), 1);
    assert_eq!(schema.triggers_on("b", Event::Insert).len(), 0);
}

#[test]
fn policies_count_for_every_event() {
    let schema = read(
        "CREATE TABLE a (x int); CREATE TABLE b (x int);
         CREATE POLICY p ON a USING (EXISTS (SELECT 1 FROM b WHERE b.x = a.x));",
        Server::Postgresql,
    );
    let Tables::Some(touched) = schema.consequences("a", Event::Select) else { panic!("all") };
    assert!(touched.contains("b"), "{touched:?}");
    assert_eq!(schema.consequences("b", Event::Delete), Tables::Some(set(&[])));
}

#[test]
fn triggers_before_an_event_tell_the_columns_that_they_assign() {
    let assigns = |timing: &str, body: &str| {
        let ddl = format!(
            "CREATE TABLE t (a int, b int);
             CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$;
             CREATE TRIGGER x {timing} UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f();"
        );
        let trigger = read(&ddl, Server::Postgresql).triggers.remove(0);
        (trigger.assigns, trigger.functions)
    };
    let changing = "NEW.b := random(); RETURN NEW;";
    let b = Columns::Some(set(&["b"]));
    assert_eq!(assigns("BEFORE", changing), (b, set(&["random"])));
    assert_eq!(assigns("AFTER", changing), (Columns::default(), set(&["random"])));
    assert_eq!(assigns("BEFORE", "RETURN NEW;").0, Columns::default());
    assert_eq!(assigns("BEFORE", "RETURN NULL;").0, Columns::All);
    assert_eq!(assigns("BEFORE", "NEW := other; RETURN NEW;").0, Columns::All);
}

#[test]
fn errors_name_the_line_and_the_remedy() {
    use Server::{Mysql, Postgresql, Sqlite};
    let cases: &[(Server, &str, usize, &str)] = &[
        (Postgresql, "\n\nALTER TABLE t ADD PRIMARY KEY (a);", 3, "put its DDL first"),
        (Postgresql, "CREATE TABLE t (a int);\nCREATE TABLE t (a int);", 2, "leave out one of"),
        (Postgresql, "CREATE TABLE t (a int);\nALTER TABLE t RENAME TO u", 2, "dump the schema"),
        (Postgresql, "CREATE TABLE t (a int);\nALTER TABLE t SET SCHEMA u", 2, "dump the schema"),
        (Postgresql, "CREATE TABLE t (PRIMARY KEY);", 1, "dump the schema"),
        (Postgresql, "-- a\nCREATE TABLE t (a text DEFAULT 'x", 2, "correct the SQL"),
        (Mysql, "CREATE TABLE t (a int, CONSTRAINT c SOMEHOW (a))", 1, "dump the schema"),
        (Sqlite, "CREATE TABLE t (a UNIQUE ON CONFLICT REPLACE)", 1, "is not supported"),
        (Sqlite, "CREATE TABLE t (a, UNIQUE (a) on conflict ignore)", 1, "is not supported"),
        (Sqlite, "CREATE TRIGGER g BEGIN END", 1, "dump the schema"),
        (Postgresql, "CREATE TABLE t (a int);\nCREAT INDEX i ON t (a)", 2, "begins like this"),
        (Postgresql, "DO $$ BEGIN CREATE TABLE t (); END $$", 1, "begins like this"),
        (Postgresql, "SELECT create_hypertable('t')", 1, "may create tables"),
        (Postgresql, "CREATE THING t", 1, "dump the schema"),
        (Postgresql, "ALTER VIEW v RENAME TO w", 1, "dump the schema"),
        (Postgresql, "ALTER DOMAIN d ADD CHECK (VALUE > 0)", 1, "put its DDL first"),
        (Postgresql, "CREATE TABLE t (a int, a int)", 1, "two columns `a`: leave out one"),
        (Postgresql, "CREATE TABLE t (a int);\nCREATE POLICY p ON u", 2, "no table `u`"),
        (Mysql, "CREATE TABLE t (abc int, UNIQUE (abd))", 1, "did you mean `abc`?"),
        (
            Postgresql,
            "CREATE TABLE total (a int);\nCREATE TRIGGER x AFTER DELETE ON totl EXECUTE FUNCTION f",
            2,
            "did you mean `total`?",
        ),
    ];
    for &(server, ddl, line, remedy) in cases {
        let bad = parse(ddl, server).expect_err(ddl);
        assert_eq!(bad.line, line, "{bad}");
        assert!(bad.to_string().contains(remedy), "{bad}");
        assert!(bad.to_string().starts_with(&format!("schema, line {line}: ")), "{bad}");
    }
}

#[test]
fn prefix_must_be_that_of_the_ddl_or_the_usual_one() {
    let name = |ddl: &str, server: Server, parts: &[&str]| {
        let parts: Vec<String> = parts.iter().map(|&part| part.to_owned()).collect();
        read(ddl, server).name_of(&parts).unwrap()
    };
    use Server::{Mysql, Postgresql, Sqlite};
    let plain = "CREATE TABLE t (a int);";
    assert_eq!(name(plain, Postgresql, &["public", "t"]), "t");
    assert_eq!(name(plain, Postgresql, &["old", "t"]), "old.t");
    assert_eq!(name(plain, Sqlite, &["main", "t"]), "t");
    assert_eq!(name(plain, Sqlite, &["temp", "t"]), "temp.t");
    assert_eq!(name(plain, Mysql, &["shop", "t"]), "shop.t", "of which database is not known");
    let used = "USE shop; CREATE TABLE t (a int);";
    assert_eq!(name(used, Mysql, &["shop", "t"]), "t");
    assert_eq!(name(used, Mysql, &["old", "t"]), "old.t");
    assert_eq!(name("CREATE TABLE app.t (a int);", Postgresql, &["app", "t"]), "t");
    assert_eq!(name("CREATE TABLE app.t (a int);", Postgresql, &["public", "t"]), "public.t");
}

#[test]
fn functions_of_constraints_indexes_and_domains_belong_to_the_table() {
    let schema = read(
        "CREATE DOMAIN d AS int DEFAULT e() CHECK (f(VALUE));
         CREATE DOMAIN app.dd AS d;
         CREATE TABLE t (a int CHECK (g(a)), b app.dd[], k text,
             EXCLUDE USING gist (h(a) WITH &&) WHERE (i(a)));
         CREATE INDEX x ON t USING btree (j(a), b text_ops) INCLUDE (a) WHERE k(b);
         ALTER TABLE t ADD CONSTRAINT c CHECK (public.l(a)) NOT VALID;
         CREATE TABLE u (LIKE t INCLUDING ALL);",
        Server::Postgresql,
    );
    let all = set(&["f", "g", "h", "i", "j", "k", "public.l"]);
    assert_eq!(schema.tables["t"].functions, all);
    assert_eq!(schema.tables["t"].checks, 3);
    assert_eq!(schema.tables["t"].column("b").unwrap().default_functions, set(&["e"]));
    assert_eq!(schema.tables["u"].functions, all);
}

#[test]
fn columns_keep_the_order_that_inserts_without_names_use() {
    let schema = read(
        "CREATE TABLE t (a int, b int); ALTER TABLE t ADD c int FIRST, ADD d int AFTER a;",
        Server::Mysql,
    );
    let names = |table: &str, schema: &Schema| -> Vec<String> {
        schema.tables[table].columns.iter().map(|column| column.name.clone()).collect()
    };
    assert_eq!(names("t", &schema), ["c", "a", "d", "b"]);
    let schema = read(
        "CREATE TABLE t (a int, b int); CREATE TABLE u (c int) INHERITS (t);
         ALTER TABLE ONLY u ALTER COLUMN b SET DEFAULT 3;",
        Server::Postgresql,
    );
    assert_eq!(names("u", &schema), ["a", "b", "c"]);
}

/// Asserts which tables the trigger of a body reads and changes.
fn assert_uses(server: Server, body: &str, reads: &[&str], changes: &[&str]) {
    let tables = ["a", "b", "c", "d"]
        .map(|name| format!("CREATE TABLE {name} (k int, b int, id int PRIMARY KEY);"));
    let trigger = match server {
        Server::Postgresql => format!(
            "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$;
             CREATE TRIGGER t AFTER INSERT ON d FOR EACH ROW EXECUTE FUNCTION f();"
        ),
        _ => format!("CREATE TRIGGER t AFTER INSERT ON d FOR EACH ROW BEGIN {body} END;"),
    };
    let schema = read(&(tables.concat() + &trigger), server);
    let found = &schema.triggers[0];
    assert_eq!(found.reads, Tables::Some(set(reads)), "{body}");
    assert_eq!(found.changes, Tables::Some(set(changes)), "{body}");
}

#[test]
fn bodies_change_the_tables_behind_the_words_of_statements_and_read_the_others() {
    use Server::{Mysql, Postgresql, Sqlite};
    assert_uses(Postgresql, "INSERT INTO a (k, b) VALUES (NEW.b, 1);", &[], &["a"]);
    assert_uses(Postgresql, "INSERT INTO public.a (b) SELECT k FROM c;", &["c"], &["a"]);
    assert_uses(Postgresql, "UPDATE a SET k = a.k + 1 WHERE k = NEW.b;", &["a"], &["a"]);
    assert_uses(Postgresql, "UPDATE a SET k = (SELECT max(k) FROM a);", &["a"], &["a"]);
    assert_uses(Postgresql, "DELETE FROM a USING c WHERE a.k = c.k;", &["a", "c"], &["a"]);
    assert_uses(Postgresql, "PERFORM 1 FROM c, a WHERE c.k = 1 FOR UPDATE;", &["a", "c"], &[]);
    assert_uses(Postgresql, "MERGE INTO a USING c ON c.k = 1;", &["a", "c"], &["a"]);
    assert_uses(Mysql, "UPDATE a, c SET a.k = 1;", &["a", "c"], &["a", "c"]);
    assert_uses(Mysql, "INSERT IGNORE a (k) VALUES (1); DELETE QUICK FROM c;", &["c"], &["a", "c"]);
    assert_uses(Mysql, "DELETE a FROM a JOIN c;", &["a", "c"], &["a"]);
    assert_uses(Mysql, "DELETE a, b FROM a JOIN b JOIN c;", &["a", "b", "c"], &["a", "b"]);
    assert_uses(Sqlite, "INSERT OR ROLLBACK INTO a VALUES (1);", &[], &["a"]);
    assert_uses(Sqlite, "UPDATE OR IGNORE a SET k = 1;", &["a"], &["a"]);
}

#[test]
fn update_or_delete_by_a_key_reads_no_rows() {
    let assert_found = |statement: &str| assert_uses(Server::Postgresql, statement, &[], &["a"]);
    assert_found("UPDATE a SET k = k + 1 WHERE id = NEW.b;");
    assert_found("UPDATE a x SET k = 1 WHERE x.id = OLD.id AND k > 2 RETURNING 1;");
    assert_found("DELETE FROM a WHERE k = abs(k) AND id = 3;");
    let assert_read = |condition: &str| {
        let update = format!("UPDATE a SET k = 1 WHERE {condition};");
        assert_uses(Server::Postgresql, &update, &["a"], &["a"]);
    };
    assert_read("id = 3 OR k = 1");
    assert_read("id = k");
    assert_read("id > NEW.id");
    assert_read("id = NEW.id + 1");
    assert_read("k BETWEEN 1 AND id = 1");
    assert_read("k IN (1, 2 AND id = 3 AND true)");
    assert_read("NOT id = 3");
    assert_read("c.id = 3");
}

#[test]
fn first_timestamp_without_attributes_may_be_set_at_each_update() {
    let schema = |server| {
        let ddl = "
            CREATE TABLE a (id int, x timestamp NOT NULL, y timestamp);
            CREATE TABLE b (id int, x timestamp NULL, y timestamp);
            CREATE TABLE c (id int, x timestamp DEFAULT CURRENT_TIMESTAMP);
            CREATE TABLE d (id int); ALTER TABLE d ADD COLUMN x timestamp;";
        parse(ddl, server).expect("the DDL is understood")
    };
    let set = |schema: &Schema| -> Vec<String> {
        let columns = |(table, known): (&String, &Table)| {
            let set = known.columns.iter().filter(|column| column.on_update);
            set.map(|column| format!("{table}.{}", column.name)).collect::<Vec<String>>()
        };
        schema.tables.iter().flat_map(columns).collect()
    };
    assert_eq!(set(&schema(Server::Mysql)), ["a.x", "d.x"]);
    assert!(set(&schema(Server::Postgresql)).is_empty());
}

#[test]
fn policies_name_the_columns_that_they_read() {
    let reads = |policy: &str| {
        let ddl = format!("CREATE TABLE t (n int, m int, k int); CREATE POLICY p ON t {policy};");
        let schema = parse(&ddl, Server::Postgresql).expect("the DDL is understood");
        (schema.rules[0].columns.clone(), schema.rules[0].touches.clone())
    };
    let some = |names: &[&str]| Columns::Some(names.iter().map(|&one| one.to_owned()).collect());
    let none = Tables::Some(BTreeSet::new());
    assert_eq!(reads("FOR UPDATE TO k USING (t.n > 4)"), (some(&["n"]), none.clone()));
    assert_eq!(reads("USING (n > 4) WITH CHECK (m > 4)"), (some(&["m", "n"]), none.clone()));
    assert_eq!(reads("AS RESTRICTIVE FOR SELECT USING (true)"), (some(&[]), none));
    assert_eq!(reads("USING (f(t.*))").0, Columns::All);
}

#[test]
fn shadow_tables_of_a_dump_of_sqlite_are_read() {
    let ddl = "
        CREATE VIRTUAL TABLE ft USING fts5(n, content='hot')
        /* ft(n) */;
        CREATE TABLE IF NOT EXISTS 'ft_data'(id INTEGER PRIMARY KEY, block BLOB);
        CREATE TABLE hot (id INTEGER PRIMARY KEY, n TEXT DEFAULT 'x', m TEXT);
        CREATE TABLE sqlite_sequence(name,seq);";
    let schema = parse(ddl, Server::Sqlite).expect("the DDL is understood");
    let unusual: Vec<&str> = schema
        .tables
        .iter()
        .filter(|(_, table)| table.outside.is_some())
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(unusual, ["ft", "sqlite_sequence"]);
    assert_eq!(schema.tables["ft_data"].columns.len(), 2);
    assert_eq!(schema.tables["hot"].columns.len(), 3);
}

#[test]
fn number_of_the_row_is_hidden_where_no_column_is_it() {
    let hidden = |ddl: &str| {
        let schema = parse(ddl, Server::Sqlite).expect("the DDL is understood");
        (schema.tables["t"].hidden_rowid, schema.tables["t"].columns[0].numbered)
    };
    assert_eq!(hidden("CREATE TABLE t (id INTEGER PRIMARY KEY)"), (false, true));
    assert_eq!(hidden("CREATE TABLE t (id INTEGER, PRIMARY KEY (id DESC))"), (false, true));
    assert_eq!(hidden("CREATE TABLE t (id INTEGER PRIMARY KEY DESC)"), (true, false));
    assert_eq!(hidden("CREATE TABLE t (id INT PRIMARY KEY)"), (true, false));
    assert_eq!(hidden("CREATE TABLE t (id TEXT PRIMARY KEY)"), (true, false));
    assert_eq!(hidden("CREATE TABLE t (id INTEGER)"), (true, false));
    assert_eq!(hidden("CREATE TABLE t (id TEXT PRIMARY KEY) WITHOUT ROWID"), (false, false));
    let schema = parse("CREATE TABLE t (id TEXT PRIMARY KEY)", Server::Postgresql);
    assert!(!schema.expect("the DDL is understood").tables["t"].hidden_rowid);
}
