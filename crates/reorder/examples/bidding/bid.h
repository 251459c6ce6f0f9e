/* A user bids on an item of an auction. The bid is kept; a bid that is higher than all others
 * becomes the item's. */
#ifndef BIDDING_BID_H
#define BIDDING_BID_H

#include <libpq-fe.h>

#include "auction.h"

/* Runs the transaction. Returns 0 if it committed, BID_REFUSED if it was rolled back because the
 * user is blocked or the auction is over, and -1 if it was rolled back because a query failed. */
#define BID_REFUSED 1
int bid(PGconn *conn, const struct bid_input *in, struct bid_output *out);

#endif
