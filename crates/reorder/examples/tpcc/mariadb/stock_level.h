/* TPC-C stock level (specification, clause 2.8): how many of the items in a district's
 * last 20 orders are low in stock. */
#ifndef TPCC_MARIADB_STOCK_LEVEL_H
#define TPCC_MARIADB_STOCK_LEVEL_H

#include <mysql.h>

#include "../terminal.h"

/* Runs the transaction. Returns 0 if it committed, and -1 if it was rolled back. */
int stock_level(MYSQL *conn, const struct stock_level_input *in, struct stock_level_output *out);

#endif
