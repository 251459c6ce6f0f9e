/* Uses the mock of libpq as a client does, and checks what it answers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>

#include "mock_input.h"

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static char *copy(const char *text)
{
    char *to = malloc(strlen(text) + 1);
    CHECK(to != NULL);
    return strcpy(to, text);
}

/* Returns the first value of a query. */
static char *first_value(PGconn *conn, const char *sql)
{
    PGresult *result = PQexec(conn, sql);
    CHECK(PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 1);
    char *value = copy(PQgetvalue(result, 0, 0));
    PQclear(result);
    return value;
}

static void columns_have_names_and_values_of_their_type(PGconn *conn)
{
    PGresult *result = PQexec(conn, "SELECT i.i_price, sum(q) AS total, count(*), i_name \"Name\" "
                                    "FROM item i, (SELECT 1, 2) AS x -- , nothing\n");
    CHECK(PQnfields(result) == 4 && PQfnumber(result, "I_PRICE") == 0);
    CHECK(strcmp(PQfname(result, 1), "total") == 0 && strcmp(PQfname(result, 2), "count") == 0);
    CHECK(PQfnumber(result, "nothing") == -1 && PQfnumber(result, "name") == 3);
    CHECK(strchr(PQgetvalue(result, 0, 0), '.') != NULL);
    CHECK(PQgetlength(result, 0, 3) <= 5 && PQgetvalue(result, 0, 3)[0] >= 'a');
    CHECK(!PQgetisnull(result, 0, 1) && atoi(PQgetvalue(result, 0, 1)) > 0);
    PQclear(result);
    result = PQexec(conn, "SELECT * FROM item");
    CHECK(PQnfields(result) == 4 && PQfnumber(result, "i_name") == 1);
    PQclear(result);
    result = PQexec(conn, "INSERT INTO item (i_name) VALUES ('a;b') RETURNING i_price");
    CHECK(PQntuples(result) == 1 && strcmp(PQcmdStatus(result), "INSERT 0 1") == 0);
    PQclear(result);
    result = PQexec(conn, "UPDATE item SET i_price = 1");
    CHECK(PQresultStatus(result) == PGRES_COMMAND_OK && strcmp(PQcmdTuples(result), "1") == 0);
    PQclear(result);
    result = PQexec(conn, " ; -- nothing");
    CHECK(PQresultStatus(result) == PGRES_EMPTY_QUERY);
    PQclear(result);
}

/* How often each number of rows occurs: none, one, more. */
struct counts {
    int none;
    int one;
    int more;
};

static struct counts counts_of(PGconn *conn, const char *format)
{
    struct counts counts = {0, 0, 0};
    for (int i = 0; i < 200; i++) {
        char sql[128];
        snprintf(sql, sizeof sql, format, i);
        PGresult *result = PQexec(conn, sql);
        int rows = atoi(PQcmdTuples(result));
        counts.none += rows == 0;
        counts.one += rows == 1;
        counts.more += rows > 1;
        PQclear(result);
    }
    return counts;
}

static void counts_are_those_that_the_query_can_have(PGconn *conn)
{
    struct counts all = counts_of(conn, "UPDATE item SET i_name = 'x' WHERE i_price > %d");
    CHECK(all.none > 0 && all.one > 0 && all.more > 0);
    struct counts key = counts_of(conn, "UPDATE item SET i_name = 'x' WHERE item.i_id = %d::int "
                                        "AND (i_price > 1 OR i_name = 'y')");
    CHECK(key.none > 0 && key.one > 0 && key.more == 0);
    struct counts either = counts_of(conn, "DELETE FROM item WHERE i_id = %d OR i_price = 1");
    CHECK(either.more > 0);
    struct counts column = counts_of(conn, "DELETE FROM item WHERE i_id = i_price AND 1 < %d");
    CHECK(column.more > 0);
    struct counts one = counts_of(conn, "INSERT INTO item (i_id) VALUES (%d)");
    CHECK(one.one == 200);
    struct counts two = counts_of(conn, "INSERT INTO item (i_id, i_name) VALUES (%d, 'a'), "
                                        "(2, 'b')");
    CHECK(two.more == 200);
    struct counts ignored = counts_of(conn, "INSERT INTO item (i_id) VALUES (%d) ON CONFLICT "
                                            "DO NOTHING");
    CHECK(ignored.none > 0 && ignored.one > 0 && ignored.more == 0);
    struct counts sum = counts_of(conn, "SELECT sum(i_price) FROM item WHERE i_price > %d");
    CHECK(sum.one == 200);
}

/* Numbers at which a program is likely to branch are frequent. */
static void special_values_are_frequent(PGconn *conn)
{
    int zero = 0, one = 0, minus = 0, constant = 0, input = 0, gold = 0;
    mockdb_constant(4711);
    mockdb_constant_text("GOLD");
    mockdb_push("x");
    long long given = mockdb_input_integer(815, 815);
    mockdb_pop();
    for (int i = 0; i < 200; i++) {
        char sql[128];
        snprintf(sql, sizeof sql, "SELECT i_count, i_kind FROM item WHERE i_price > %d LIMIT 1", i);
        PGresult *result = PQexec(conn, sql);
        long long value = PQntuples(result) > 0 ? atoll(PQgetvalue(result, 0, 0)) : 7;
        zero += value == 0;
        one += value == 1;
        minus += value == -1;
        constant += value == 4711;
        input += value == given;
        gold += PQntuples(result) > 0 && strcmp(PQgetvalue(result, 0, 1), "GOLD") == 0;
        PQclear(result);
    }
    CHECK(zero > 5 && one > 3 && minus > 2 && constant > 10 && input > 5 && gold > 20);
}

/* Prints the answers to two queries, and to the first once more; `later` turns them round. */
static void print_answers(PGconn *conn, int later)
{
    const char *queries[] = {"SELECT a.id FROM a", "SELECT b.id FROM b"};
    char *values[2];
    for (int i = 0; i < 2; i++) {
        int which = later ? 1 - i : i;
        values[which] = first_value(conn, queries[which]);
    }
    char *again = first_value(conn, queries[0]);
    printf("%s %s %s\n", values[0], values[1], again);
    free(values[0]);
    free(values[1]);
    free(again);
}

static void lost_connection_stays_lost_until_it_is_reset(PGconn *conn)
{
    PGresult *result = PQexec(conn, "SELECT 1");
    CHECK(PQstatus(conn) == CONNECTION_BAD);
    CHECK(PQtransactionStatus(conn) == PQTRANS_UNKNOWN);
    CHECK(PQresultErrorField(result, PG_DIAG_SQLSTATE) == NULL);
    PQclear(result);
    result = PQexec(conn, "ROLLBACK");
    CHECK(PQresultStatus(result) == PGRES_FATAL_ERROR);
    PQclear(result);
    PQreset(conn);
    CHECK(PQstatus(conn) == CONNECTION_OK && PQtransactionStatus(conn) == PQTRANS_IDLE);
}

static void failed_query_fails_the_transaction(PGconn *conn)
{
    PQclear(PQexec(conn, "BEGIN; SAVEPOINT s"));
    CHECK(PQtransactionStatus(conn) == PQTRANS_INTRANS);
    PGresult *result = PQexec(conn, "ROLLBACK TO SAVEPOINT s");
    CHECK(PQresultStatus(result) == PGRES_COMMAND_OK);
    PQclear(result);
    result = PQprepare(conn, "p", "SELECT x FROM t WHERE y = $1", 1, NULL);
    CHECK(PQresultStatus(result) == PGRES_COMMAND_OK);
    PQclear(result);
    const char *values[] = {"5"};
    result = PQexecPrepared(conn, "p", 1, values, NULL, NULL, 0);
    CHECK(PQresultStatus(result) == PGRES_FATAL_ERROR && PQntuples(result) == 0);
    CHECK(strcmp(PQresultErrorField(result, PG_DIAG_SQLSTATE), "40001") == 0);
    CHECK(strcmp(PQresultErrorMessage(result), PQerrorMessage(conn)) == 0);
    PQclear(result);
    CHECK(PQtransactionStatus(conn) == PQTRANS_INERROR);
    result = PQexec(conn, "SELECT 1");
    CHECK(strcmp(PQresultErrorField(result, PG_DIAG_SQLSTATE), "25P02") == 0);
    PQclear(result);
    result = PQexec(conn, "COMMIT");
    CHECK(PQresultStatus(result) == PGRES_COMMAND_OK);
    CHECK(strcmp(PQcmdStatus(result), "ROLLBACK") == 0);
    PQclear(result);
    CHECK(PQtransactionStatus(conn) == PQTRANS_IDLE);
}

static void texts_are_quoted(PGconn *conn)
{
    char buffer[32];
    char *literal = PQescapeLiteral(conn, "it's", 4);
    CHECK(strcmp(literal, "'it''s'") == 0);
    PQfreemem(literal);
    char *name = PQescapeIdentifier(conn, "a\"b", 3);
    CHECK(strcmp(name, "\"a\"\"b\"") == 0);
    PQfreemem(name);
    CHECK(PQescapeStringConn(conn, buffer, "o'x", 3, NULL) == 4 && strcmp(buffer, "o''x") == 0);
    size_t length;
    unsigned char *bytes = PQescapeByteaConn(conn, (const unsigned char *)"A\377", 2, &length);
    CHECK(strcmp((char *)bytes, "\\x41ff") == 0 && length == 7);
    unsigned char *plain = PQunescapeBytea(bytes, &length);
    CHECK(length == 2 && plain[1] == 0xff);
    PQfreemem(bytes);
    PQfreemem(plain);
}

int main(int count, char **arguments)
{
    const char *part = count > 1 ? arguments[1] : "";
    PGconn *conn = PQconnectdb("dbname=none");
    CHECK(PQstatus(conn) == CONNECTION_OK);
    if (strcmp(part, "lost") == 0)
        lost_connection_stays_lost_until_it_is_reset(conn);
    else if (strcmp(part, "columns") == 0)
        columns_have_names_and_values_of_their_type(conn);
    else if (strcmp(part, "failure") == 0)
        failed_query_fails_the_transaction(conn);
    else if (strcmp(part, "counts") == 0)
        counts_are_those_that_the_query_can_have(conn);
    else if (strcmp(part, "special") == 0)
        special_values_are_frequent(conn);
    else if (strcmp(part, "texts") == 0)
        texts_are_quoted(conn);
    else
        print_answers(conn, strcmp(part, "later") == 0);
    PQfinish(conn);
    return 0;
}
