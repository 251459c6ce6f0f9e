/* TPC-E trade update, frame 1 (specification, clause 3.3.10): minor corrections to a set of
 * trades. */
#ifndef TPCE_MARIADB_TRADE_UPDATE_H
#define TPCE_MARIADB_TRADE_UPDATE_H

#include <mysql.h>

#include "../brokerage.h"

/* Runs the transaction. Returns 0 if it committed, and -1 if it was rolled back. */
int trade_update(MYSQL *conn, const struct trade_update_input *in,
                 struct trade_update_output *out);

#endif
