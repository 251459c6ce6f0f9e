/* TPC-C payment over the client library of MariaDB. */
#ifndef TPCC_MARIADB_PAYMENT_H
#define TPCC_MARIADB_PAYMENT_H

#include <mysql.h>

#include "../terminal.h"

/* Runs the transaction. Returns 0 if it committed, and -1 if it was rolled back. */
int payment(MYSQL *conn, const struct payment_input *in, struct payment_output *out);

/* The prepared statements of one connection, for payment_prepared.c. */
struct payment_statements;

/* Prepares the statements. Returns NULL after a message on stderr if the server refuses one. */
struct payment_statements *payment_prepare(MYSQL *conn);

void payment_close(struct payment_statements *statements);

/* Like payment, with prepared statements. */
int payment_prepared(MYSQL *conn, struct payment_statements *statements,
                     const struct payment_input *in, struct payment_output *out);

#endif
