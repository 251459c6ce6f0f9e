//! Errors that the content of rows may cause.

use super::*;

use Server::{Mysql, Postgresql, Sqlite};

const TABLES: &str = "
    CREATE TABLE t (id integer PRIMARY KEY, n integer, m integer NOT NULL, b bigint, s smallint,
                    d numeric(12,2), k varchar(5), c varchar(9), x text, at timestamp, z smallint);
    CREATE TABLE o (id integer PRIMARY KEY, n integer, v integer NOT NULL);
    CREATE VIEW ratio AS SELECT n / v AS r FROM o;
    CREATE VIEW plain AS SELECT n FROM o;";

const POLICIES: &str = "
    CREATE TABLE w (id integer PRIMARY KEY, n integer, v integer);
    CREATE POLICY p ON w USING (n > 4 AND w.v > 3) WITH CHECK (12 / v > 1);
    CREATE TABLE seen (id integer PRIMARY KEY, n integer, v integer);
    CREATE POLICY q ON seen FOR SELECT USING (n > 4 AND EXISTS (SELECT 1 FROM o WHERE o.n = v));
    CREATE POLICY r ON seen FOR UPDATE USING (true);";

const MYSQL: &str = "
    CREATE TABLE t (id integer PRIMARY KEY, n integer, m integer NOT NULL, u INT UNSIGNED NOT NULL,
                    i TINYINT, k varchar(5), e ENUM('open','shut'), j JSON, a DATE, f BOOLEAN);";

/// Checks which error a query may raise; none is an empty text.
fn check(server: Server, cases: &[(&str, &str)]) {
    let ddl = match server {
        Mysql => MYSQL.to_owned(),
        Postgresql => format!("{TABLES}{POLICIES}"),
        Sqlite => TABLES.to_owned(),
    };
    check_with(server, &ddl, cases);
}

/// Checks which error a query on tables may raise.
fn check_with(server: Server, ddl: &str, cases: &[(&str, &str)]) {
    let schema = schema::parse(ddl, server).expect("the DDL is understood");
    let mut wrong = Vec::new();
    for &(text, expected) in cases {
        let found = match analyze(text, server, &schema) {
            Ok(query) => query.fails.unwrap_or_default(),
            Err(bad) => bad.to_string(),
        };
        if found != expected {
            wrong.push(format!("{server:?} {text}\n  {found}\n  not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn counters_and_values_of_the_program_fit() {
    check(
        Postgresql,
        &[
            ("UPDATE t SET n = $1, k = $2, d = d + $3, b = b - n, m = m + 1 WHERE id = $4", ""),
            ("UPDATE t SET n = 7, k = 'abcde', x = x || 'more', at = now() WHERE n > $1 - 3", ""),
            ("UPDATE t SET m = coalesce(n, 0), d = n, x = k, at = CURRENT_TIMESTAMP", ""),
            ("UPDATE t SET n = CASE WHEN k LIKE 'a%' THEN n + 1 ELSE m END", ""),
            ("UPDATE t SET n = (SELECT v FROM o WHERE o.id = $1) WHERE id = 1", ""),
            ("UPDATE t SET k = left(c, 5), c = substring(x, 1, 9)", ""),
            ("UPDATE t SET n = DEFAULT", ""),
            ("SELECT count(*), sum(d * 2), max(k) FROM t WHERE n BETWEEN 1 AND $1", ""),
            ("SELECT n % 2, d / 100, $1 / $2 FROM t", ""),
            ("SELECT n::text, s::int, '7'::int FROM t", ""),
            ("INSERT INTO t (id, n, k) VALUES ($1, 2, 'abc')", ""),
            ("INSERT INTO o SELECT id, n, m FROM t", ""),
            ("INSERT INTO o VALUES (1, 2, 3) ON CONFLICT (id) DO UPDATE SET v = o.v + 1", ""),
            ("SELECT n FROM plain", ""),
            ("SELECT n FROM seen", ""),
            ("SELECT n / nullif(m, 0), s + 1, s - z * 2 FROM t WHERE s + 5 > $1", ""),
            ("UPDATE t SET n = excluded.n FROM o AS excluded WHERE t.id = excluded.id", ""),
            ("UPDATE t SET x = replace(k, 'a', $1) WHERE to_char(at, 'YYYY') = $2", ""),
            ("UPDATE t SET m = least(m, 5), n = n + length(x) WHERE at + $1 > now()", ""),
            ("DELETE FROM t WHERE n = $1 AND at < now() - interval '1 day'", ""),
        ],
    );
}

#[test]
fn values_of_rows_may_not_fit() {
    check(
        Postgresql,
        &[
            ("UPDATE t SET n = n / m", "`n / m` may divide by zero"),
            ("UPDATE t SET n = n % $1", "`n % $1` may divide by zero"),
            ("DELETE FROM t WHERE 5 / n > 1", "`5 / n` may divide by zero"),
            ("SELECT 5 / n FROM t", "`5 / n` may divide by zero"),
            ("UPDATE t SET s = s + 1", "`s + 1` may not fit into `s`"),
            ("SELECT id FROM t WHERE s + z > 5", "`s + z` may be out of range"),
            ("SELECT id FROM t WHERE s + $1 > 5", "`s + $1` may be out of range"),
            ("SELECT id FROM t WHERE s * z > 5", "`s * z` may be out of range"),
            ("SELECT n / nullif(m, 1) FROM t", "`n / nullif(m, 1)` may divide by zero"),
            ("SELECT n FROM w", "`12 / v` may divide by zero"),
            ("UPDATE w SET n = 1", "`12 / v` may divide by zero"),
            ("UPDATE t SET n = b", "`b` may not fit into `n`"),
            ("UPDATE t SET n = n * 2", "`n * 2` may be out of range"),
            ("UPDATE t SET m = n", "`n` may be null, which `m` must not be"),
            ("UPDATE t SET m = NULL", "`NULL` may be null, which `m` must not be"),
            ("UPDATE t SET k = c", "`c` may not fit into `k`"),
            ("UPDATE t SET k = k || 'x'", "`k || 'x'` may not fit into `k`"),
            ("UPDATE t SET k = 'abcdef'", "`'abcdef'` may not fit into `k`"),
            ("UPDATE t SET s = 40000", "`40000` may not fit into `s`"),
            ("UPDATE t SET n = k::int", "`k::INT` may fail"),
            ("SELECT id FROM t WHERE k ~ c", "`k ~ c` may use a text that is no pattern"),
            ("SELECT ln(n) FROM t", "`ln(n)` may raise an error"),
            (
                "SELECT id FROM t WHERE n = (SELECT v FROM o)",
                "`(SELECT v FROM o)` may return several rows",
            ),
            ("INSERT INTO o SELECT id, n, n FROM t", "`n` may be null, which `v` must not be"),
            (
                "INSERT INTO o VALUES (1, 2, 3) ON CONFLICT (id) DO UPDATE SET v = o.v / o.n",
                "`o.v / o.n` may divide by zero",
            ),
            (
                "WITH w AS (SELECT id / n AS n FROM o) UPDATE t SET n = w.n FROM w",
                "`id / n` may divide by zero",
            ),
            (
                "WITH o AS (SELECT 5000000000 AS v) UPDATE t SET n = o.v FROM o",
                "`o.v` may not fit into `n`",
            ),
            (
                "UPDATE t SET m = o.v FROM t AS q LEFT JOIN o ON o.id = q.n WHERE t.id = q.id",
                "`v` may be null, which `m` must not be",
            ),
            ("SELECT r FROM ratio", "`n / v` may divide by zero"),
        ],
    );
}

#[test]
fn mysql_refuses_more_in_a_change_than_in_a_read() {
    check(
        Mysql,
        &[
            ("UPDATE t SET u = u + 1, n = n - ?, f = NOT f, i = 5", ""),
            ("UPDATE t SET e = 'shut', a = '2024-02-28', j = '{}' WHERE k = 'a'", ""),
            ("SELECT 5 / n, k + 1 FROM t", ""),
            ("UPDATE t SET u = u - 3", "`u - 3` may be out of range"),
            ("UPDATE t SET u = u + ?", "`u + $1` may be out of range"),
            ("UPDATE t SET u = n", "`n` may be null, which `u` must not be"),
            ("UPDATE t SET u = m", "`m` may not fit into `u`"),
            ("SELECT id FROM t WHERE u - 10 < 4", "`u - 10` may be out of range"),
            ("UPDATE t SET i = i + 5", "`i + 5` may not fit into `i`"),
            ("UPDATE t SET n = 5 / n", "`5 / n` may divide by zero"),
            ("UPDATE t SET n = k", "`k` may not fit into `n`"),
            ("UPDATE t SET n = k + 1", "`k + 1` may read a text that is no number"),
            ("UPDATE t SET n = 1 WHERE k = 5", "`k = 5` may read a text that is no number"),
            ("UPDATE t SET n = 5 / nullif(n, 0)", ""),
            ("UPDATE t SET e = 'zz'", "`'zz'` may not fit into `e`"),
            ("UPDATE t SET a = '2020-99-99'", "`'2020-99-99'` may not fit into `a`"),
            ("UPDATE t SET j = '{'", "`'{'` may not fit into `j`"),
        ],
    );
}

#[test]
fn sqlite_only_refuses_nulls() {
    check(
        Sqlite,
        &[
            ("UPDATE t SET s = n / m, k = c || c, n = k + 1 WHERE 5 / n > 1", ""),
            ("SELECT x ->> 'a' FROM t", "`x ->> 'a'` may read a text that is no JSON"),
            ("UPDATE t SET m = n", "`n` may be null, which `m` must not be"),
        ],
    );
}

#[test]
fn numbers_with_a_floating_point_signs_and_rounding() {
    const DDL: &str = "
        CREATE TABLE t (id integer PRIMARY KEY, n integer, s smallint, x double precision,
                        y real, z float(24), u numeric, p numeric(6,2), q numeric(6));";
    const TINY: &str = "CREATE TABLE t (id integer PRIMARY KEY, i TINYINT, m MEDIUMINT, f FLOAT,
                                        x DOUBLE, p DECIMAL(6,2));";
    let cases = [
        ("UPDATE t SET x = x * x, y = y * y / 3, z = z / 0.1, n = -n WHERE abs(n) > 3", ""),
        ("UPDATE t SET x = p, x = p * $1, y = p * 2.5, x = x / 3, x = p / nullif(n, 0)", ""),
        ("UPDATE t SET x = (SELECT sum(p) FROM t), u = x, u = p * $1, u = ceil(p)", ""),
        ("UPDATE t SET x = extract(epoch FROM now()), n = floor(p), q = round(q, 2)", ""),
        ("UPDATE t SET s = -s", "`-s` may be out of range"),
        ("SELECT abs(s) FROM t", "`abs(s)` may be out of range"),
        ("UPDATE t SET y = x", "`x` may not fit into `y`"),
        ("UPDATE t SET z = x", "`x` may not fit into `z`"),
        ("UPDATE t SET x = u", "`u` may not fit into `x`"),
        ("UPDATE t SET x = u * 2", "`u * 2` may not fit into `x`"),
        ("UPDATE t SET p = ceil(p)", "`CEIL(p)` may not fit into `p`"),
        ("UPDATE t SET p = round(p, 1)", "`round(p, 1)` may not fit into `p`"),
        ("UPDATE t SET q = round(q, -2)", "`round(q, -2)` may not fit into `q`"),
    ];
    check_with(Postgresql, DDL, &cases);
    let cases = [
        ("UPDATE t SET m = -m, x = x * f, x = f, f = f * 2, p = floor(p / 10)", ""),
        ("UPDATE t SET i = -i", "`-i` may not fit into `i`"),
        ("UPDATE t SET i = abs(i)", "`abs(i)` may not fit into `i`"),
        ("UPDATE t SET f = x", "`x` may not fit into `f`"),
        ("UPDATE t SET p = round(p)", "`round(p)` may not fit into `p`"),
    ];
    check_with(Mysql, TINY, &cases);
}

#[test]
fn strict_tables_of_sqlite_refuse_other_types() {
    const DDL: &str = "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, x TEXT, r REAL, b BLOB,
                                       a ANY, m INTEGER NOT NULL) STRICT;
                       CREATE TABLE loose (id INTEGER PRIMARY KEY, n INTEGER);";
    let cases = [
        ("UPDATE t SET n = n + 1, x = x || 'a', r = n, r = r * 2, b = ?, a = x, n = ?", ""),
        ("UPDATE loose SET n = n || 'a'", ""),
        ("UPDATE t SET n = x", "`x` may not fit into `n`"),
        ("UPDATE t SET n = r", "`r` may not fit into `n`"),
        ("UPDATE t SET n = n * 1.5", "`n * 1.5` may not fit into `n`"),
        ("UPDATE t SET b = x", "`x` may not fit into `b`"),
        (
            "UPDATE t SET n = loose.n FROM loose WHERE loose.id = 1",
            "`loose.n` may not fit into `n`",
        ),
        ("UPDATE t SET m = id % 0", "`id % 0` may be null, which `m` must not be"),
    ];
    check_with(Sqlite, DDL, &cases);
}

#[test]
fn mysql_reads_texts_as_truth_and_dates() {
    check(
        Mysql,
        &[
            (
                "UPDATE t SET n = IF(n, 1, 2) WHERE n AND a < '2024-01-01' AND k",
                "`k` may be a text that is no number",
            ),
            ("UPDATE t SET n = 1 WHERE NOT k", "`k` may be a text that is no number"),
            ("DELETE FROM t WHERE k", "`k` may be a text that is no number"),
            ("UPDATE t SET n = IF(k, 1, 2)", "`IF(k, 1, 2)` may read a text that is no number"),
            (
                "UPDATE t SET n = CASE k WHEN 1 THEN 2 ELSE 3 END",
                "`CASE k WHEN 1 THEN 2 ELSE 3 END` may read a text that is no number",
            ),
            ("UPDATE t SET n = 1 WHERE a = k", "`a = k` may read a text that is no date"),
            ("SELECT n FROM t WHERE k", ""),
        ],
    );
}

#[test]
fn texts_and_arrays_of_rows_may_be_refused() {
    const DDL: &str = "CREATE TABLE t (id integer PRIMARY KEY, n integer, v varchar(9), x text,
                                       a integer[], at timestamp);";
    let cases = [
        ("UPDATE t SET x = lower(v), x = lpad(x, 10), x = rpad(x, $1, v)", ""),
        ("UPDATE t SET x = to_char(n, '999'), x = to_char(at, $1), v = trim(v)", ""),
        ("UPDATE t SET v = upper(v)", "`upper(v)` may not fit into `v`"),
        ("UPDATE t SET x = lpad(x, n)", "`lpad(x, n)` may be too long"),
        ("UPDATE t SET x = to_char(n, x)", "`to_char(n, x)` may use a text that is no format"),
        ("UPDATE t SET a = a || 1", "`a || 1` may join arrays of different dimensions"),
    ];
    check_with(Postgresql, DDL, &cases);
}

#[test]
fn largest_decimals_dates_and_zones() {
    check(
        Postgresql,
        &[
            ("UPDATE t SET d = 9999999999.99", ""),
            ("UPDATE t SET d = 10000000000", "`10000000000` may not fit into `d`"),
            ("SELECT at AT TIME ZONE $1 FROM t", ""),
            ("SELECT at AT TIME ZONE k FROM t", "`k` may name no time zone"),
        ],
    );
    check(
        Mysql,
        &[
            ("SELECT YEAR(k) FROM t", ""),
            ("DELETE FROM t WHERE YEAR(a) < 2020", ""),
            ("DELETE FROM t WHERE YEAR(k) < 2020", "`k` may be no date"),
        ],
    );
    let null = "`strftime('%s', x)` may be null, which `m` must not be";
    check(Sqlite, &[("UPDATE t SET m = strftime('%s', x)", null)]);
}
