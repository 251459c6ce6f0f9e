/* TPC-E trade status (specification, clause 3.3.9): the last trades of an account. */
#ifndef TPCE_TRADE_STATUS_H
#define TPCE_TRADE_STATUS_H

#include <libpq-fe.h>

#include "brokerage.h"

/* Runs the transaction. Returns 0 if it committed, and -1 if it was rolled back. */
int trade_status(PGconn *conn, const struct trade_status_input *in,
                 struct trade_status_output *out);

#endif
