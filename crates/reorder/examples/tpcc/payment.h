/* TPC-C payment (specification, clause 2.5): a customer pays; the warehouse and the district count
 * the amount, and the history gets a row. */
#ifndef TPCC_PAYMENT_H
#define TPCC_PAYMENT_H

#include <libpq-fe.h>

#include "terminal.h"

/* Runs the transaction. Returns 0 if it committed, and -1 if it was rolled back. */
int payment(PGconn *conn, const struct payment_input *in, struct payment_output *out);

/* Prepares the statements of payment_prepared.c on a new connection. Returns 0, or -1 if the server
 * refuses one of them. */
int payment_prepare(PGconn *conn);

#endif
