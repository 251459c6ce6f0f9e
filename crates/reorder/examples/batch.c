#include "batch.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_PER_INSERT 200

void *check_memory(void *memory)
{
    if (memory == NULL) {
        fputs("load: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

void execute(struct client *client, const char *sql)
{
    if (client_execute(client, sql) != 0)
        exit(1);
}

static void batch_send(struct batch *batch)
{
    if (batch->rows > 0)
        execute(batch->client, batch->sql);
    batch->rows = 0;
    batch->length = 0;
}

void batch_end(struct batch *batch)
{
    batch_send(batch);
    free(batch->sql);
    batch->sql = NULL;
    batch->capacity = 0;
}

void row(struct batch *batch, const char *format, ...)
{
    char values[1200];
    va_list arguments;
    size_t need;

    va_start(arguments, format);
    vsnprintf(values, sizeof values, format, arguments);
    va_end(arguments);

    need = batch->length + strlen(batch->table) + strlen(values) + 32;
    if (need > batch->capacity) {
        batch->capacity = need * 2;
        batch->sql = check_memory(realloc(batch->sql, batch->capacity));
    }
    if (batch->rows == 0)
        batch->length = (size_t)sprintf(batch->sql, "INSERT INTO %s VALUES ", batch->table);
    batch->length += (size_t)sprintf(batch->sql + batch->length, "%s(%s)",
                                     batch->rows == 0 ? "" : ",", values);
    if (++batch->rows == ROWS_PER_INSERT)
        batch_send(batch);
}

/* The tables of all examples, each before those that it refers to. Two examples have a table
 * "customer", and two a table "item": a database holds the data of one of them. */
static const char *const all_tables[] = {
    "order_line", "stock", "new_order", "orders", "history", "bid", "item", "bidder",
    "holding_history", "holding", "holding_summary", "cash_transaction", "settlement",
    "trade_history", "trade_request", "trade", "charge", "commission_rate", "last_trade",
    "security", "company", "account_permission", "customer_account", "broker",
    "customer_taxrate", "customer", "taxrate", "trade_type", "status_type", "exchange",
    "district", "warehouse",
};

void create_tables(struct client *client, const char *path)
{
    char drop[64], *schema, *statement, *end;
    FILE *file = fopen(path, "r");
    size_t length;

    if (file == NULL) {
        perror(path);
        exit(1);
    }
    for (size_t i = 0; i < sizeof all_tables / sizeof *all_tables; i++) {
        snprintf(drop, sizeof drop, "DROP TABLE IF EXISTS %s", all_tables[i]);
        execute(client, drop);
    }
    schema = check_memory(malloc(1 << 16));
    length = fread(schema, 1, (1 << 16) - 1, file);
    schema[length] = '\0';
    fclose(file);
    for (statement = schema; (end = strchr(statement, ';')) != NULL; statement = end + 1) {
        *end = '\0';
        execute(client, statement);
    }
    free(schema);
}

void finish(struct client *client, const char *const *tables, size_t count)
{
    execute(client, "COMMIT");
    for (size_t i = 0; i < count; i++)
        if (client_analyze(client, tables[i]) != 0)
            exit(1);
    client_close(client);
}
