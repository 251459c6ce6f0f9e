/* The connection for MariaDB. The address is the path of the server's Unix socket; user and
 * database are called tpcc. A program may be linked with payment, with payment_prepared, or with
 * neither; those that are missing are null. */
#include "client.h"

#include <stdio.h>
#include <stdlib.h>

#include <mysql.h>

#include "tpcc/mariadb/payment.h"

#pragma weak payment
#pragma weak payment_prepared
#pragma weak payment_prepare
#pragma weak payment_close

struct client {
    MYSQL mysql;
    struct payment_statements *payment;
};

struct client *client_open(const char *address)
{
    struct client *client = malloc(sizeof *client);

    if (client == NULL)
        return NULL;
    client->payment = NULL;
    mysql_init(&client->mysql);
    if (!mysql_real_connect(&client->mysql, NULL, "tpcc", NULL, "tpcc", 0, address, 0)) {
        fprintf(stderr, "cannot connect: %s\n", mysql_error(&client->mysql));
        client_close(client);
        return NULL;
    }
    if (payment_prepare && (client->payment = payment_prepare(&client->mysql)) == NULL) {
        client_close(client);
        return NULL;
    }
    return client;
}

void client_close(struct client *client)
{
    if (client->payment != NULL)
        payment_close(client->payment);
    mysql_close(&client->mysql);
    free(client);
}

int client_alive(struct client *client)
{
    return mysql_ping(&client->mysql) == 0;
}

/* Runs a statement and drops its result, if it has one. */
int client_execute(struct client *client, const char *sql)
{
    if (mysql_query(&client->mysql, sql) != 0) {
        fprintf(stderr, "%.60s...: %s\n", sql, mysql_error(&client->mysql));
        return -1;
    }
    mysql_free_result(mysql_store_result(&client->mysql));
    return 0;
}

int client_analyze(struct client *client, const char *table)
{
    char sql[64];

    snprintf(sql, sizeof sql, "ANALYZE TABLE %s", table);
    return client_execute(client, sql);
}

int client_number(struct client *client, const char *sql, double *number)
{
    MYSQL_RES *res = NULL;
    MYSQL_ROW row = NULL;

    if (mysql_query(&client->mysql, sql) == 0) {
        res = mysql_store_result(&client->mysql);
        if (res != NULL)
            row = mysql_fetch_row(res);
    }
    if (row != NULL && row[0] != NULL)
        *number = atof(row[0]);
    else
        fprintf(stderr, "%.60s...: %s\n", sql, mysql_error(&client->mysql));
    mysql_free_result(res);
    return row != NULL ? 0 : -1;
}

int client_has(enum transaction transaction)
{
    return transaction == PAYMENT && (payment != NULL || payment_prepared != NULL);
}

int client_run(struct client *client, enum transaction transaction,
               const union transaction_input *in)
{
    struct payment_output out;

    if (transaction != PAYMENT)
        return FAILED;
    if (client->payment != NULL)
        return payment_prepared(&client->mysql, client->payment, &in->payment, &out);
    return payment(&client->mysql, &in->payment, &out);
}
