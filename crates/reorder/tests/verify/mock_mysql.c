/* Uses the mock of MySQL's interface as a client does, and checks what it answers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mysql.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static void rows_stand_in_results(MYSQL *conn)
{
    CHECK(mysql_query(conn, "SELECT i_price, i_name FROM item WHERE i_id = 1 # nothing") == 0);
    CHECK(mysql_field_count(conn) == 2 && mysql_affected_rows(conn) == (my_ulonglong)-1);
    MYSQL_RES *result = mysql_store_result(conn);
    CHECK(result != NULL && mysql_num_rows(result) == 1 && mysql_num_fields(result) == 2);
    CHECK(mysql_affected_rows(conn) == 1);
    MYSQL_ROW row = mysql_fetch_row(result);
    CHECK(row != NULL && strchr(row[0], '.') != NULL);
    CHECK(mysql_fetch_lengths(result)[0] == strlen(row[0]));
    CHECK(strcmp(mysql_fetch_fields(result)[1].name, "i_name") == 0);
    CHECK(mysql_fetch_fields(result)[0].type == MYSQL_TYPE_NEWDECIMAL);
    CHECK(mysql_fetch_row(result) == NULL);
    mysql_data_seek(result, 0);
    CHECK(mysql_fetch_row(result) != NULL);
    mysql_free_result(result);
    CHECK(mysql_query(conn, "INSERT INTO item (i_name) VALUES ('a;\'b')") == 0);
    CHECK(mysql_store_result(conn) == NULL && mysql_errno(conn) == 0);
    CHECK(mysql_affected_rows(conn) == 1 && mysql_insert_id(conn) > 0);
    CHECK(mysql_query(conn, "UPDATE item SET i_price = 1") == 0 && mysql_insert_id(conn) == 0);
}

static void query_before_the_last_row_is_out_of_sync(MYSQL *conn)
{
    CHECK(mysql_query(conn, "SELECT i_name FROM item WHERE i_id = 2") == 0);
    CHECK(mysql_query(conn, "SELECT 1") != 0 && mysql_errno(conn) == 2014);
    MYSQL_RES *result = mysql_use_result(conn);
    CHECK(mysql_fetch_row(result) != NULL && !mysql_eof(result));
    CHECK(mysql_query(conn, "SELECT 1") != 0 && mysql_errno(conn) == 2014);
    CHECK(mysql_fetch_row(result) == NULL && mysql_eof(result));
    CHECK(mysql_query(conn, "COMMIT") == 0);
    mysql_free_result(result);
}

static void bind(MYSQL_BIND *bind, enum enum_field_types type, void *buffer, unsigned long size)
{
    memset(bind, 0, sizeof *bind);
    bind->buffer_type = type;
    bind->buffer = buffer;
    bind->buffer_length = size;
}

static void buffers_are_read_and_written(MYSQL *conn)
{
    MYSQL_BIND in[2], out[3];
    int id = 1, count = -7;
    double price = -7.0;
    char name[3] = "??";
    unsigned long length = 0, given = 2;
    MYSQL_STMT *stmt = mysql_stmt_init(conn);
    const char *sql = "SELECT i_count, i_price, i_name FROM item WHERE i_id = ? AND i_name <> ?";
    CHECK(mysql_stmt_prepare(stmt, sql, strlen(sql)) == 0 && mysql_stmt_param_count(stmt) == 2);
    bind(&in[0], MYSQL_TYPE_LONG, &id, 0);
    bind(&in[1], MYSQL_TYPE_STRING, "abc", 3);
    in[1].length = &given;
    bind(&out[0], MYSQL_TYPE_LONG, &count, 0);
    bind(&out[1], MYSQL_TYPE_DOUBLE, &price, 0);
    bind(&out[2], MYSQL_TYPE_STRING, name, sizeof name);
    out[2].length = &length;
    CHECK(!mysql_stmt_bind_param(stmt, in) && !mysql_stmt_bind_result(stmt, out));
    id = 5; /* The buffers are read when the statement runs. */
    CHECK(mysql_stmt_execute(stmt) == 0 && mysql_stmt_field_count(stmt) == 3);
    CHECK(mysql_query(conn, "SELECT 1") != 0 && mysql_errno(conn) == 2014);
    CHECK(mysql_stmt_store_result(stmt) == 0 && mysql_stmt_num_rows(stmt) == 1);
    int fetched = mysql_stmt_fetch(stmt);
    CHECK(fetched == (length > sizeof name ? MYSQL_DATA_TRUNCATED : 0));
    CHECK(price != -7.0 && count != -7 && name[0] != '?');
    CHECK(mysql_stmt_fetch(stmt) == MYSQL_NO_DATA);
    CHECK(!mysql_stmt_free_result(stmt) && !mysql_stmt_close(stmt));
}

static void deadlock_ends_the_transaction(MYSQL *conn)
{
    CHECK(mysql_autocommit(conn, 0) == 0);
    CHECK(mysql_query(conn, "UPDATE item SET i_price = 7") != 0);
    CHECK(mysql_errno(conn) == 1213 && strcmp(mysql_sqlstate(conn), "40001") == 0);
    CHECK(strstr(mysql_error(conn), "Deadlock") != NULL);
    CHECK(mysql_query(conn, "SAVEPOINT a") == 0 && mysql_rollback(conn) == 0);
    CHECK(mysql_query(conn, "ROLLBACK TO SAVEPOINT a") != 0 && mysql_errno(conn) == 1305);
}

static void texts_are_quoted(MYSQL *conn)
{
    char text[32];
    CHECK(mysql_real_escape_string(conn, text, "o'x\\\n", 5) == 8);
    CHECK(strcmp(text, "o\\'x\\\\\\n") == 0);
}

int main(int count, char **arguments)
{
    const char *part = count > 1 ? arguments[1] : "";
    MYSQL mysql, *conn = mysql_init(&mysql);
    CHECK(mysql_real_connect(conn, NULL, NULL, NULL, NULL, 0, NULL, 0) == conn);
    if (strcmp(part, "rows") == 0)
        rows_stand_in_results(conn);
    else if (strcmp(part, "sync") == 0)
        query_before_the_last_row_is_out_of_sync(conn);
    else if (strcmp(part, "buffers") == 0)
        buffers_are_read_and_written(conn);
    else if (strcmp(part, "deadlock") == 0)
        deadlock_ends_the_transaction(conn);
    else
        texts_are_quoted(conn);
    mysql_close(conn);
    return 0;
}
