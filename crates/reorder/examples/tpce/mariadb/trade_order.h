/* TPC-E trade order (specification, clause 3.3.7): a customer, or somebody for him, orders to buy
 * or to sell a security. */
#ifndef TPCE_MARIADB_TRADE_ORDER_H
#define TPCE_MARIADB_TRADE_ORDER_H

#include <mysql.h>

#include "../brokerage.h"

/* Runs the transaction. Returns 0 if it committed, TRADE_ORDER_REFUSED if it was rolled back
 * because the person may not order for the account or the order was a trial, and -1 if it was
 * rolled back because a query failed. */
#define TRADE_ORDER_REFUSED 1
int trade_order(MYSQL *conn, const struct trade_order_input *in, struct trade_order_output *out);

#endif
