//! Generated sources for the whole tool.

use std::fmt::Write;

use super::super::reorder::workload::examples;

/// The least number of lines of the large file.
const LINES: usize = 5_000;
/// The queries of the long function, and the lines between two of them.
const QUERIES: usize = 40;
const LINES_BETWEEN: usize = 12;

/// The transactions of which the large file has many copies, with the names of their functions.
const COPIED: [(&str, &str); 5] = [
    ("payment_text.c", "payment"),
    ("new_order.c", "new_order"),
    ("delivery.c", "delivery"),
    ("order_status.c", "order_status"),
    ("stock_level.c", "stock_level"),
];

/// Returns a file of at least 5,000 lines: all transactions of TPC-C, again and again.
///
/// # Panics
/// If an example is missing.
pub(super) fn large() -> String {
    let mut text = includes(&COPIED.map(|(_, function)| function));
    for copy in 0.. {
        for (file, function) in COPIED {
            let path = examples().join("tpcc/mariadb").join(file);
            let source = std::fs::read_to_string(&path).expect("the examples are there");
            let start = source.find("\nint ").expect("a transaction returns its status");
            let body = &source[start..];
            text +=
                &body.replacen(&format!("int {function}("), &format!("int {function}_{copy}("), 1);
        }
        if text.lines().count() >= LINES {
            break;
        }
    }
    text
}

fn includes(headers: &[&str]) -> String {
    let mut text = String::from("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n");
    text += "#include <mysql.h>\n";
    for header in headers {
        let _ = writeln!(text, "#include \"{header}.h\"");
    }
    text
}

/// The tables of the long function, with a column and the key.
const TABLES: [(&str, &str, &str, &str); 4] = [
    ("warehouse", "w_ytd", "w_id = %d", "in->w_id"),
    ("district", "d_ytd", "d_w_id = %d AND d_id = %d", "in->w_id, in->d_id"),
    (
        "customer",
        "c_balance",
        "c_w_id = %d AND c_d_id = %d AND c_id = %d",
        "in->c_w_id, in->c_d_id, in->c_id",
    ),
    ("stock", "s_ytd", "s_w_id = %d AND s_i_id = %d", "in->w_id, in->c_id"),
];

/// Returns a function with 40 queries and some lines of other code behind each.
pub(super) fn long() -> String {
    let mut text = includes(&["payment"]);
    text += "
int payment(MYSQL *conn, const struct payment_input *in, struct payment_output *out)
{
    MYSQL_RES *res = NULL;
    MYSQL_ROW row;
    char sql[1024];
    double sum = 0;

    if (mysql_query(conn, \"BEGIN\") != 0)
        goto fail;
";
    for number in 0..QUERIES {
        text += &query(number);
        for line in 0..LINES_BETWEEN {
            let _ = match line % 4 {
                0 => writeln!(text, "    if (sum > {})", line * 100 + number),
                1 => writeln!(text, "        sum -= {line};"),
                _ => writeln!(text, "    sum += {line};"),
            };
        }
    }
    text += "
    out->c_balance = sum;
    if (mysql_query(conn, \"COMMIT\") != 0)
        goto fail;
    return 0;

fail:
    mysql_free_result(res);
    mysql_query(conn, \"ROLLBACK\");
    return -1;
}
";
    text
}

/// Returns the query of a number: updates and reads by turns.
fn query(number: usize) -> String {
    let (table, column, condition, values) = TABLES[number / 2 % TABLES.len()];
    if number.is_multiple_of(2) {
        return format!(
            "
    snprintf(sql, sizeof sql, \"UPDATE {table} SET {column} = {column} + %.2f \"
             \"WHERE {condition}\", in->h_amount, {values});
    if (mysql_query(conn, sql) != 0)
        goto fail;
"
        );
    }
    format!(
        "
    snprintf(sql, sizeof sql, \"SELECT {column} FROM {table} WHERE {condition}\",
             {values});
    if (mysql_query(conn, sql) != 0)
        goto fail;
    res = mysql_store_result(conn);
    if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
        goto fail;
    sum += atof(row[0]);
    mysql_free_result(res);
    res = NULL;
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sources_have_the_required_sizes() {
        assert!((5_000..6_000).contains(&large().lines().count()));
        let lines = long().lines().count();
        assert!((800..950).contains(&lines), "{lines}");
        assert_eq!(long().matches("mysql_query").count(), QUERIES + 3);
    }
}
