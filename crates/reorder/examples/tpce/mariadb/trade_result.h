/* TPC-E trade result (specification, clause 3.3.8): the market has completed an order. */
#ifndef TPCE_MARIADB_TRADE_RESULT_H
#define TPCE_MARIADB_TRADE_RESULT_H

#include <mysql.h>

#include "../brokerage.h"

/* Runs the transaction. Returns 0 if it committed, and -1 if it was rolled back. */
int trade_result(MYSQL *conn, const struct trade_result_input *in,
                 struct trade_result_output *out);

#endif
