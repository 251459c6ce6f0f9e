/* TPC-C new order (specification, clause 2.4): a customer orders 5 to 15 items. */
#ifndef TPCC_MARIADB_NEW_ORDER_H
#define TPCC_MARIADB_NEW_ORDER_H

#include <mysql.h>

#include "../terminal.h"

/* Runs the transaction. Returns 0 if it committed, NEW_ORDER_INVALID_ITEM if it was rolled back
 * because an item does not exist, and -1 if it was rolled back because a query failed. */
#define NEW_ORDER_INVALID_ITEM 1
int new_order(MYSQL *conn, const struct new_order_input *in, struct new_order_output *out);

#endif
