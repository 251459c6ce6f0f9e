/* TPC-C delivery (specification, clause 2.7): the oldest order of each district of
 * a warehouse is delivered. */
#ifndef TPCC_MARIADB_DELIVERY_H
#define TPCC_MARIADB_DELIVERY_H

#include <mysql.h>

#include "../terminal.h"

/* Runs the transaction. Returns 0 if it committed, and -1 if it was rolled back. */
int delivery(MYSQL *conn, const struct delivery_input *in, struct delivery_output *out);

#endif
