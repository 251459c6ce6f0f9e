/* TPC-C: the consistency conditions of the database (specification, clause 3.3.2). */
#ifndef TPCC_CHECK_H
#define TPCC_CHECK_H

#include "../client.h"

/* Checks the conditions. Returns how many are violated, after a message on stderr for each, or -1
 * if a query failed. */
int check_consistency(struct client *client);

#endif
