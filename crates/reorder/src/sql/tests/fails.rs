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
            ("UPDATE t SET n = 1 WHERE a = k", "`a = k` may read a value that is no date"),
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

#[test]
fn functions_in_from_limits_and_frames_may_refuse_values() {
    const DDL: &str = "
        CREATE TABLE t (id integer PRIMARY KEY, n integer, x text, v text, a integer[], j jsonb,
                        at timestamp);
        CREATE TABLE o (id integer PRIMARY KEY, n integer, j jsonb NOT NULL);";
    let cases = [
        ("SELECT t.id FROM t, unnest(t.a) AS e, generate_series(1, t.n) AS g", ""),
        ("SELECT t.id FROM t, regexp_matches(t.x, 'a') AS m WHERE m.m IS NOT NULL", ""),
        ("SELECT e.value FROM jsonb_array_elements($1::jsonb) AS e", ""),
        (
            "SELECT e.value FROM t, jsonb_array_elements(t.j) AS e",
            "`jsonb_array_elements(t.j)` may raise an error",
        ),
        (
            "SELECT e.value FROM t CROSS JOIN LATERAL jsonb_array_elements_text(t.j -> 'a') AS e",
            "`jsonb_array_elements_text(t.j -> 'a')` may raise an error",
        ),
        (
            "SELECT e.value FROM t LEFT JOIN LATERAL jsonb_array_elements(j) AS e ON true",
            "`jsonb_array_elements(j)` may raise an error",
        ),
        (
            "SELECT t.id FROM t, jsonb_path_query(t.j, 'strict $.a') AS q",
            "`jsonb_path_query(t.j, 'strict $.a')` may raise an error",
        ),
        (
            "SELECT value FROM jsonb_array_elements((SELECT j FROM o WHERE id = $1))",
            "`jsonb_array_elements((SELECT j FROM o WHERE id = $1))` may raise an error",
        ),
        (
            "SELECT t.id FROM t, regexp_matches(t.x, t.v) AS m",
            "`regexp_matches(t.x, t.v)` may raise an error",
        ),
        (
            "SELECT t.id FROM t, generate_series(1, 9, t.n) AS g",
            "`generate_series(1, 9, t.n)` may raise an error",
        ),
        (
            "DELETE FROM o USING t, jsonb_array_elements(t.j) AS e WHERE o.id = t.id",
            "`jsonb_array_elements(t.j)` may raise an error",
        ),
        ("SELECT n FROM t LIMIT $1 OFFSET $2", ""),
        ("SELECT n FROM t LIMIT 5 OFFSET (SELECT count(*) FROM o)", ""),
        ("SELECT n FROM t FETCH FIRST 3 ROWS ONLY", ""),
        (
            "SELECT n FROM t OFFSET (SELECT max(n) FROM o)",
            "`(SELECT max(n) FROM o)` may be negative",
        ),
        (
            "SELECT n FROM t LIMIT (SELECT max(n) FROM o)",
            "`(SELECT max(n) FROM o)` may be negative",
        ),
        ("SELECT n FROM t WHERE n IN (SELECT o.n FROM o LIMIT t.n)", "`t.n` may be negative"),
        ("SELECT sum(n) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM t", ""),
        ("SELECT sum(n) OVER (ORDER BY at RANGE INTERVAL '1 day' PRECEDING) FROM t", ""),
        (
            "SELECT sum(n) OVER (ORDER BY id ROWS (SELECT max(n) FROM o) PRECEDING) FROM t",
            "`(SELECT max(n) FROM o)` may be negative",
        ),
        (
            "SELECT sum(n) OVER w FROM t WINDOW w AS (ORDER BY id ROWS BETWEEN CURRENT ROW AND \
             (SELECT max(n) FROM o) FOLLOWING)",
            "`(SELECT max(n) FROM o)` may be negative",
        ),
        ("SELECT n FROM t TABLESAMPLE BERNOULLI (10)", ""),
        (
            "SELECT n FROM t TABLESAMPLE BERNOULLI ((SELECT max(n) FROM o))",
            "`(SELECT max(n) FROM o)` may be no percentage",
        ),
    ];
    check_with(Postgresql, DDL, &cases);
    let maximum = "`(SELECT max(x) FROM t)` may be no whole number";
    let cases = [
        ("SELECT n FROM t LIMIT ? OFFSET -1", ""),
        ("SELECT n FROM t LIMIT (SELECT count(*) FROM t WHERE k = 'a')", ""),
        ("SELECT n FROM t LIMIT (SELECT max(x) FROM t)", maximum),
        ("SELECT n FROM t LIMIT 5 OFFSET (SELECT max(x) FROM t)", maximum),
        (
            "SELECT n FROM t LIMIT (SELECT max(n) FROM t)",
            "`(SELECT max(n) FROM t)` may be no whole number",
        ),
        ("SELECT e.value FROM t, json_each(t.x) AS e", "`json_each(t.x)` may raise an error"),
    ];
    check(Sqlite, &cases);
    let table = "SELECT r.x FROM t, JSON_TABLE(t.k, '$[*]' COLUMNS (x INT PATH '$')) AS r";
    check(Mysql, &[(table, "`JSON_TABLE` may raise an error")]);
}

#[test]
fn units_zones_escapes_and_formats_of_rows_may_be_refused() {
    const DDL: &str = "CREATE TABLE t (id integer PRIMARY KEY, n integer, x text, v text,
                                       at timestamp, tz timestamptz, iv interval, by bytea);";
    let cases = [
        (
            "SELECT date_trunc('day', at), date_trunc($1, tz, 'UTC'), date_part('hour', at) FROM t",
            "",
        ),
        ("UPDATE t SET at = date_trunc('day', at)", ""),
        ("SELECT date_trunc(x, at) FROM t", "`x` may name no unit of time"),
        ("SELECT date_trunc(v, iv) FROM t", "`v` may name no unit of time"),
        ("SELECT date_part(x, at) FROM t", "`x` may name no unit of time"),
        ("SELECT date_trunc('day', tz, x) FROM t", "`x` may name no time zone"),
        ("SELECT timezone(x, at) FROM t", "`timezone(x, at)` may raise an error"),
        ("SELECT encode(by, x) FROM t", "`encode(by, x)` may raise an error"),
        ("SELECT date(at), length(x), to_char(at, 'VI') FROM t", ""),
        ("SELECT date(x) FROM t", "`x` may be no date"),
        ("SELECT length(by, x) FROM t", "`x` may name no character set"),
        ("SELECT length(by, 'UTF8') FROM t", "`length(by, 'UTF8')` may raise an error"),
        ("SELECT to_char(n, '9V99999') FROM t", "`to_char(n, '9V99999')` may be out of range"),
        ("SELECT id FROM t WHERE x LIKE 'a!%' ESCAPE '!' OR x SIMILAR TO 'a' ESCAPE $1", ""),
        ("SELECT id FROM t WHERE x LIKE 'a%' OR x ILIKE $1 OR x LIKE 'a\\\\' OR x ~~ 'a_'", ""),
        ("SELECT id FROM t WHERE x LIKE 'a' ESCAPE v", "`v` may be no single character"),
        ("SELECT id FROM t WHERE x SIMILAR TO 'a' ESCAPE v", "`v` may be no single character"),
        (
            "SELECT id FROM t WHERE x LIKE 'ab\\'",
            "`x LIKE 'ab\\'` may use a text that is no pattern",
        ),
        ("SELECT id FROM t WHERE x ~~ 'ab\\'", "`x ~~ 'ab\\'` may use a text that is no pattern"),
        (
            "SELECT id FROM t WHERE x LIKE 'ab!' ESCAPE '!'",
            "`x LIKE 'ab!' ESCAPE '!'` may use a text that is no pattern",
        ),
        ("SELECT id FROM t WHERE n = ANY ($1) AND n > ALL ($2) AND x LIKE ANY ($3)", ""),
        ("SELECT id FROM t WHERE 'a' ~ ANY (ARRAY[x, v])", "`ARRAY[x, v]` may raise an error"),
        ("SELECT id FROM t WHERE x @@ 'word'", "`x @@ 'word'` may read a text that is too long"),
    ];
    check_with(Postgresql, DDL, &cases);
    let cases = [
        ("SELECT x LIKE 'a!_' ESCAPE '!', x LIKE 'a' ESCAPE ? FROM t", ""),
        ("SELECT x LIKE 'a' ESCAPE c FROM t", "`c` may be no single character"),
        ("UPDATE t SET n = 1 WHERE x LIKE 'a' ESCAPE c", "`c` may be no single character"),
        (
            "UPDATE t SET n = 1 WHERE id = 1 RETURNING x LIKE 'a' ESCAPE c",
            "`c` may be no single character",
        ),
        ("SELECT x LIKE c FROM t", "`x LIKE c` may use a text that is no pattern"),
    ];
    check(Sqlite, &cases);
}

#[test]
fn json_arrays_and_bits_of_rows_may_be_refused() {
    const DDL: &str = "
        CREATE TABLE t (id integer PRIMARY KEY, n integer, x text, a integer[], js json, j jsonb,
                        vb varbit, b3 bit(3), h inet);
        CREATE TABLE o (id integer PRIMARY KEY, n integer, x text NOT NULL, y text);";
    let zero = |text: &str| format!("`{text}` may read a character that no text has");
    let arrays = |text: &str| format!("`{text}` may join arrays of different dimensions");
    let bits = |text: &str| format!("`{text}` may combine bits of different lengths");
    let key = |text: &str| format!("`{text}` may be null, which a key must not be");
    let cases = [
        ("SELECT j ->> 'a', j -> 'a' -> 'b', j #>> '{a}', js::text FROM t", String::new()),
        ("UPDATE t SET x = j ->> 'a', j = j -> 'a'", String::new()),
        ("SELECT js ->> 'a' FROM t", zero("js ->> 'a'")),
        ("SELECT js -> 'a' FROM t", zero("js -> 'a'")),
        ("SELECT js #>> '{a}' FROM t", zero("js #>> '{a}'")),
        ("SELECT d.v ->> 'a' FROM (SELECT js AS v FROM t) AS d", zero("d.v ->> 'a'")),
        ("SELECT to_json(js), row_to_json(t), json_agg(js), jsonb_agg(x) FROM t", String::new()),
        ("SELECT to_jsonb(js) FROM t", zero("to_jsonb(js)")),
        ("SELECT jsonb_agg(t) FROM t", zero("jsonb_agg(t)")),
        ("SELECT jsonb_build_object('a', js) FROM t", zero("jsonb_build_object('a', js)")),
        (
            "SELECT json_build_object(id, n, 'a', js), jsonb_build_object($1, j) FROM t",
            String::new(),
        ),
        (
            "SELECT json_build_object(coalesce(x, 'a'), 1), jsonb_build_object(1, n) FROM t",
            String::new(),
        ),
        ("SELECT json_build_object(x, 1) FROM t", key("x")),
        ("SELECT jsonb_build_object('a', 1, n, 2) FROM t", key("n")),
        ("SELECT jsonb_build_object(o.x, 2) FROM o", String::new()),
        ("SELECT jsonb_build_object(o.x, 2) FROM t LEFT JOIN o ON o.id = t.n", key("o.x")),
        (
            "SELECT '{}' UNION SELECT jsonb_build_object(o.x, 2) FROM t LEFT JOIN o ON o.id = t.n",
            key("o.x"),
        ),
        (
            "DELETE FROM t USING t AS q LEFT JOIN o ON o.id = q.n WHERE t.id = q.id \
             RETURNING jsonb_build_object(o.x, 2)",
            key("o.x"),
        ),
        (
            "SELECT array_agg(n), array_agg(x), cardinality(a), array_length(a, n) FROM t",
            String::new(),
        ),
        ("SELECT array_append($1, n) FROM t", String::new()),
        ("SELECT array_append(a, n) FROM t", arrays("array_append(a, n)")),
        ("SELECT array_prepend(n, a) FROM t", "`array_prepend(n, a)` may raise an error".into()),
        ("SELECT array_cat(a, a) FROM t", "`array_cat(a, a)` may raise an error".into()),
        ("SELECT array_agg(a) FROM t", arrays("array_agg(a)")),
        (
            "SELECT array_agg(d.v) FROM (SELECT array_agg(n) AS v FROM o GROUP BY x) AS d",
            arrays("array_agg(d.v)"),
        ),
        ("SELECT array_agg(d.n) FROM (SELECT n FROM o) AS d", String::new()),
        (
            "SELECT array_agg(m.m) FROM o, regexp_matches(o.x, 'a', 'g') AS m",
            arrays("array_agg(m.m)"),
        ),
        ("SELECT n & 3, id | n, b3 & b3, b3 # '101', bit_and(n) FROM t", String::new()),
        ("SELECT vb & b3 FROM t", bits("vb & b3")),
        ("SELECT vb | '1' FROM t", bits("vb | '1'")),
        ("SELECT vb # '1' FROM t", bits("vb # '1'")),
        ("SELECT bit_and(vb) FROM t", bits("bit_and(vb)")),
        ("SELECT h & '1.2.3.4' FROM t", bits("h & '1.2.3.4'")),
    ];
    let cases: Vec<(&str, &str)> = cases.iter().map(|(sql, error)| (*sql, &**error)).collect();
    check_with(Postgresql, DDL, &cases);
    let cases = [
        ("SELECT (x -> 'a') -> 'b' FROM t", "`x -> 'a'` may read a text that is no JSON"),
        ("SELECT ? ->> 'a', count(*) FROM t", ""),
        ("SELECT ? ->> x FROM t", "`x` may be no path"),
        (
            "SELECT d.v ->> 'a' FROM (SELECT x AS v FROM t) AS d",
            "`d.v ->> 'a'` may read a text that is no JSON",
        ),
    ];
    check(Sqlite, &cases);
}

#[test]
fn constants_within_an_expression_are_compared_with_the_column() {
    let cases = [
        ("UPDATE t SET s = CASE WHEN n > 1 THEN 1 ELSE 30000 END, k = coalesce(k, 'abc')", ""),
        ("UPDATE t SET s = CASE WHEN n > 40000 THEN $1 ELSE s END, k = 'abcdefg'::varchar(5)", ""),
        ("UPDATE t SET s = 30000 + 2000 - 1, k = 'ab' || 'cde', k = nullif(k, 'abcdefg')", ""),
        (
            "UPDATE t SET s = CASE WHEN n > 1 THEN 1 ELSE 40000 END",
            "`CASE WHEN n > 1 THEN 1 ELSE 40000 END` may not fit into `s`",
        ),
        (
            "UPDATE t SET k = CASE WHEN n > 1 THEN $1 ELSE 'a long text' END",
            "`CASE WHEN n > 1 THEN $1 ELSE 'a long text' END` may not fit into `k`",
        ),
        ("UPDATE t SET s = coalesce(s, 40000)", "`coalesce(s, 40000)` may not fit into `s`"),
        ("UPDATE t SET k = ('a ' || 'text')", "`('a ' || 'text')` may not fit into `k`"),
        ("UPDATE t SET s = 40000::int", "`40000::INT` may not fit into `s`"),
        ("UPDATE t SET s = 20000 + 20000", "`20000 + 20000` may not fit into `s`"),
        ("INSERT INTO t (id, s) SELECT id, lag(z, 1, $1) OVER () FROM t", ""),
        (
            "INSERT INTO t (id, s) SELECT id, lag(z, 1, n) OVER () FROM t",
            "`lag(z, 1, n) OVER ()` may not fit into `s`",
        ),
    ];
    check(Postgresql, &cases);
    const STRICT: &str = "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, x TEXT, r REAL,
                                          b BLOB) STRICT;";
    let cases = [
        ("UPDATE t SET n = 2, n = '3', x = 5, r = 1.5, b = x'00', x = date(x), n = max(n, 3)", ""),
        ("UPDATE t SET n = 'abc'", "`'abc'` may not fit into `n`"),
        ("UPDATE t SET n = 1.5", "`1.5` may not fit into `n`"),
        ("UPDATE t SET b = 'abc'", "`'abc'` may not fit into `b`"),
        ("UPDATE t SET x = x'00'", "`X'00'` may not fit into `x`"),
        ("UPDATE t SET n = coalesce(n, 'abc')", "`coalesce(n, 'abc')` may not fit into `n`"),
        ("UPDATE t SET n = max(n, x)", "`max(n, x)` may not fit into `n`"),
    ];
    check_with(Sqlite, STRICT, &cases);
}

#[test]
fn mysql_reads_texts_as_numbers_in_a_change() {
    const DDL: &str = "
        CREATE TABLE t (id integer PRIMARY KEY, n integer, b BIGINT, k varchar(5), u INT UNSIGNED,
                        a DATE, y YEAR, j JSON, v VARBINARY(4), c SET('a','b'), r DOUBLE,
                        d DECIMAL(12,2), w DECIMAL(12,2) UNSIGNED);
        CREATE TABLE o (id integer PRIMARY KEY, n integer, k varchar(5), x LONGTEXT, b BIGINT);";
    let number = |text: &str| format!("`{text}` may be a text that is no number");
    let range = |text: &str| format!("`{text}` may be out of range");
    let none = String::new;
    let cases = [
        ("SELECT abs(k), round(k), sum(k), left(k, k), year(n), group_concat(k) FROM t", none()),
        ("UPDATE t SET n = round(n), k = left(k, 2), a = date(a), n = year(date(a))", none()),
        ("UPDATE t SET n = 1 WHERE abs(k) > 3", number("k")),
        ("UPDATE t SET n = 1 WHERE round(n, k) > 3", number("k")),
        ("UPDATE t SET n = 1 WHERE floor(k) > 3", number("k")),
        ("UPDATE t SET n = sign(k)", number("k")),
        ("UPDATE t SET n = locate('a', k, k)", number("k")),
        ("UPDATE t SET k = left(k, k)", number("k")),
        ("UPDATE t SET n = 1 WHERE k & 1", number("k")),
        ("UPDATE t SET n = 1 WHERE n & 1 & 3 AND u & n", none()),
        ("UPDATE t SET a = a + INTERVAL n DAY", none()),
        ("UPDATE t SET a = a + INTERVAL k DAY", number("k")),
        ("INSERT INTO o (id, b) SELECT 1, count(n) FROM t", none()),
        ("INSERT INTO o (id, n) SELECT 1, 2 FROM t HAVING sum(k) > 0", number("k")),
        (
            "INSERT INTO o (id, x) SELECT 1, group_concat(k) FROM t",
            "`group_concat(k)` may be cut off".into(),
        ),
        (
            "UPDATE t SET n = 1 WHERE greatest(k, 5) = 5",
            "`greatest(k, 5)` may read a text that is no number".into(),
        ),
        (
            "UPDATE t SET n = 1 WHERE nullif(k, 5) IS NULL",
            "`nullif(k, 5)` may read a text that is no number".into(),
        ),
        ("UPDATE t SET n = 1 WHERE (k, n) = ('a', 5)", none()),
        (
            "UPDATE t SET n = 1 WHERE (k, n) = (5, 5)",
            "`(k, n) = (5, 5)` may read a text that is no number".into(),
        ),
        ("UPDATE t SET n = 1 WHERE k IN (SELECT k FROM o)", none()),
        (
            "UPDATE t SET n = 1 WHERE n IN (SELECT k FROM o)",
            "`n IN (SELECT k FROM o)` may read a text that is no number".into(),
        ),
        ("UPDATE t SET n = 1 WHERE y = k", "`y = k` may read a text that is no number".into()),
        ("UPDATE t SET n = 1 WHERE j = 5", "`j = 5` may read a text that is no number".into()),
        ("UPDATE t SET n = 1 WHERE a = n", "`a = n` may read a value that is no date".into()),
        ("UPDATE t SET n = year(n)", "`n` may be no date".into()),
        ("UPDATE t SET v = 'abcd', c = 'a,b'", none()),
        ("UPDATE t SET v = 'abcde'", "`'abcde'` may not fit into `v`".into()),
        ("UPDATE t SET c = 'a,c'", "`'a,c'` may not fit into `c`".into()),
        ("SELECT n DIV 2, b DIV n, u DIV 3, n DIV ?, d DIV 5, u DIV u FROM t", none()),
        ("SELECT n DIV r FROM t", range("n DIV r")),
        ("SELECT b DIV 0.0000001 FROM t", range("b DIV 0.0000001")),
        ("SELECT r DIV 2 FROM t", range("r DIV 2")),
        ("SELECT u DIV n FROM t", range("u DIV n")),
        ("SELECT u DIV -1 FROM t", range("u DIV -1")),
        ("SELECT w DIV n FROM t", range("w DIV n")),
        ("SELECT u * 3, u * -1.5, w * n FROM t", none()),
        ("SELECT u * n FROM t", range("u * n")),
        ("SELECT u * -1 FROM t", range("u * -1")),
        ("SELECT v & v FROM t", "`v & v` may combine bits of different lengths".into()),
        ("SELECT CAST(j AS JSON), CAST(n AS JSON), CAST(? AS JSON) FROM t", none()),
        (
            "SELECT CAST(k AS JSON) FROM t",
            "`CAST(k AS JSON)` may read a text that is no JSON".into(),
        ),
        ("SELECT k LIKE 'a' ESCAPE k FROM t", "`k` may be no single character".into()),
    ];
    let cases: Vec<(&str, &str)> = cases.iter().map(|(sql, error)| (*sql, &**error)).collect();
    check_with(Mysql, DDL, &cases);
}
