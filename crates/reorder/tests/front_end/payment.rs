//! A payment transaction over libpq, as a user would write it.

use clearway_reorder::ir::{Callee, ExpressionKind, StatementKind};

use crate::{c, outline};

const SOURCE: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEGIN_TRANSACTION
#define END_TRANSACTION

/* As in libpq-fe.h. */
typedef struct pg_conn PGconn;
typedef struct pg_result PGresult;
typedef enum { PGRES_EMPTY_QUERY = 0, PGRES_COMMAND_OK, PGRES_TUPLES_OK } ExecStatusType;
extern PGresult *PQexec(PGconn *conn, const char *query);
extern PGresult *PQexecParams(PGconn *conn, const char *command, int nParams,
                              const unsigned int *paramTypes, const char *const *paramValues,
                              const int *paramLengths, const int *paramFormats, int resultFormat);
extern ExecStatusType PQresultStatus(const PGresult *res);
extern char *PQgetvalue(const PGresult *res, int tup_num, int field_num);
extern char *PQerrorMessage(const PGconn *conn);
extern int PQntuples(const PGresult *res);
extern void PQclear(PGresult *res);

struct payment_input {
    int w_id, d_id, c_w_id, c_d_id, c_id; /* keys */
    double amount;
};

#define SUCCEEDED(res, wanted) (PQresultStatus(res) == (wanted))
#define EXPECT(res, wanted)                                        \
    do {                                                           \
        if (!SUCCEEDED(res, wanted)) {                             \
            fprintf(stderr, "query failed: %s", PQerrorMessage(conn)); \
            PQclear(res);                                          \
            goto rollback;                                         \
        }                                                          \
    } while (0)

static const char *const DISTRICT =
    "UPDATE district SET d_ytd = d_ytd + $3::numeric "
    "WHERE d_w_id = $1 AND d_id = $2";

int payment(PGconn *conn, const struct payment_input *input, char *name, size_t size)
{
    PGresult *res;
    char sql[512], w_id[12], d_id[12], amount[32];
    const char *values[3] = { w_id, d_id, amount };
    double balance = 0.0;
    int bad_credit = 0, i;

    BEGIN_TRANSACTION
    res = PQexec(conn, "BEGIN");
    EXPECT(res, PGRES_COMMAND_OK);
    PQclear(res);

    /* The warehouse: the hottest row. */
    snprintf(sql, sizeof sql,
             "UPDATE warehouse SET w_ytd = w_ytd + %.2f WHERE w_id = %d", // money
             input->amount, input->w_id);
    res = PQexec(conn, sql);
    EXPECT(res, PGRES_COMMAND_OK);
    PQclear(res);

    snprintf(w_id, sizeof w_id, "%d", input->w_id);
    snprintf(d_id, sizeof d_id, "%d", input->d_id);
    snprintf(amount, sizeof amount, "%.2f", input->amount);
    res = PQexecParams(conn, DISTRICT, 3, NULL, values, NULL, NULL, 0);
    EXPECT(res, PGRES_COMMAND_OK);
    PQclear(res);

    snprintf(sql, sizeof sql,
             "SELECT c_balance, c_credit, c_first FROM customer "
             "WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d FOR UPDATE",
             input->c_w_id, input->c_d_id, input->c_id);
    res = PQexec(conn, sql);
    EXPECT(res, PGRES_TUPLES_OK);
    if (PQntuples(res) != 1) {
        PQclear(res);
        goto rollback;
    }
    balance = atof(PQgetvalue(res, 0, 0)) - input->amount;
    bad_credit = strcmp(PQgetvalue(res, 0, 1), "BC") == 0;
    strncpy(name, PQgetvalue(res, 0, 2), size - 1);
    name[size - 1] = '\0';
    PQclear(res);

    if (bad_credit) {
        for (i = 0; name[i] != '\0'; i++)
            if (name[i] == '\'')
                name[i] = ' ';
        snprintf(sql, sizeof sql, "UPDATE customer SET c_balance = %.2f, c_data = '%s'", balance,
                 name);
    } else
        snprintf(sql, sizeof sql, "UPDATE customer SET c_balance = %.2f", balance);
    snprintf(sql + strlen(sql), sizeof sql - strlen(sql), " WHERE c_id = %d", input->c_id);
    res = PQexec(conn, sql);
    EXPECT(res, PGRES_COMMAND_OK);
    PQclear(res);

    res = PQexec(conn, "COMMIT");
    EXPECT(res, PGRES_COMMAND_OK);
    PQclear(res);
    END_TRANSACTION
    return 0;

rollback:
    PQclear(PQexec(conn, "ROLLBACK"));
    return -1;
}
"#;

#[test]
fn each_statement_has_its_text() {
    let Some(program) = c(SOURCE) else { return };
    let function = program.function("payment").expect("the function");
    let begins = |text: &str, with: &str| {
        assert!(text.starts_with(with), "{text:?} does not begin with {with:?}");
        let end = text.ends_with(';') || text.ends_with('}');
        assert!(end && !text.contains("PQclear(res);\n\n"), "{text:?}");
    };
    let expected = [
        "PGresult *res;",
        "char sql[512]",
        "const char *values[3]",
        "double balance",
        "int bad",
        "res = PQexec(conn, \"BEGIN\");",
        "EXPECT(res, PGRES_COMMAND_OK);",
        "PQclear(res);",
        "snprintf(sql, sizeof sql,\n             \"UPDATE warehouse",
        "res = PQexec(conn, sql);",
        "EXPECT(res, PGRES_COMMAND_OK);",
        "PQclear(res);",
        "snprintf(w_id",
        "snprintf(d_id",
        "snprintf(amount",
        "res = PQexecParams(",
        "EXPECT(",
        "PQclear(",
        "snprintf(sql, sizeof sql,",
        "res = PQexec(conn, sql);",
        "EXPECT(res, PGRES_TUPLES_OK);",
        "if (PQntuples(res) != 1) {",
        "balance = atof(",
        "bad_credit = strcmp",
        "strncpy(",
        "name[size - 1]",
        "PQclear(",
        "if (bad_credit) {",
        "snprintf(sql + strlen(sql)",
        "res = PQexec(conn, sql);",
        "EXPECT(",
        "PQclear(",
        "res = PQexec(conn, \"COMMIT\");",
        "EXPECT(",
        "PQclear(",
        "return 0;",
        "rollback:",
        "return -1;",
    ];
    let children = function.body.children();
    assert_eq!(children.len(), expected.len());
    for (child, with) in children.iter().zip(expected) {
        begins(child.range.of(SOURCE), with);
    }
    // Nothing but white space, comments and the two markers stands between the statements.
    let mut gaps = String::new();
    let mut from = function.body.range.start + 1;
    for child in &children {
        gaps.push_str(&SOURCE[from..child.range.start]);
        from = child.range.end;
    }
    gaps.push_str(&SOURCE[from..function.body.range.end - 1]);
    let gaps: Vec<&str> = gaps.split_whitespace().collect();
    let expected = "BEGIN_TRANSACTION /* The warehouse: the hottest row. */ END_TRANSACTION";
    assert_eq!(gaps.join(" "), expected);
}

#[test]
fn checks_are_expanded_and_name_what_they_call() {
    let Some(program) = c(SOURCE) else { return };
    let function = program.function("payment").expect("the function");
    let children = function.body.children();
    let lines = outline::statements(&program, SOURCE, &function.body);
    let at = lines.iter().position(|line| line.starts_with("`EXPECT(")).expect("a check");
    let use_of = "`EXPECT(res, PGRES_COMMAND_OK);`";
    let expected = [
        format!("{use_of} expanded"),
        format!("  {use_of} dowhile '0; -"),
        format!("    {use_of} block"),
        format!("      {use_of} if '(!'('PQresultStatus(res) == PGRES_COMMAND_OK))"),
        format!("        {use_of} block"),
        format!(
            "          {use_of} evaluate 'fprintf('stderr, '\"query failed: %s\", \
             'PQerrorMessage('conn))"
        ),
        format!("          {use_of} evaluate 'PQclear(res)"),
        format!("          {use_of} goto rollback"),
    ];
    assert_eq!(lines[at..at + expected.len()], expected);
    let StatementKind::Evaluate(query) = &children[15].kind else { panic!("no call") };
    let ExpressionKind::Assign { value, .. } = &query.kind else { panic!("no assignment") };
    let ExpressionKind::Call { callee, arguments, .. } = &value.kind else { panic!("no call") };
    assert_eq!(*callee, Callee::Function("PQexecParams".to_owned()));
    let shown: Vec<String> =
        arguments.iter().map(|one| outline::expression(&program, one)).collect();
    assert_eq!(shown, ["conn", "DISTRICT", "3", "NULL", "values", "NULL", "NULL", "0"]);
    let district = program.variables.iter().find(|one| one.name == "DISTRICT").expect("a variable");
    let initial = district.initial.as_ref().expect("its text");
    let text = "UPDATE district SET d_ytd = d_ytd + $3::numeric WHERE d_w_id = $1 AND d_id = $2";
    assert_eq!(initial.kind, ExpressionKind::Text(text.to_owned()));
    let names: Vec<&str> = program.macros.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names.iter().filter(|&&name| name == "EXPECT").count(), 6);
    assert_eq!(names.iter().filter(|name| name.ends_with("_TRANSACTION")).count(), 2);
}
