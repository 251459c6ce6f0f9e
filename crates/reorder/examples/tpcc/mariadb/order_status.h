/* TPC-C order status (specification, clause 2.6): the last order of a customer. */
#ifndef TPCC_MARIADB_ORDER_STATUS_H
#define TPCC_MARIADB_ORDER_STATUS_H

#include <mysql.h>

#include "../terminal.h"

/* Runs the transaction. Returns 0 if it committed, and -1 if it was rolled back. */
int order_status(MYSQL *conn, const struct order_status_input *in,
                 struct order_status_output *out);

#endif
