/* An auction: what a user sends with a bid, and what he gets back. */
#ifndef BIDDING_AUCTION_H
#define BIDDING_AUCTION_H

struct bid_input {
    int user_id;
    int item_id;
    double amount;
};

struct bid_output {
    char user_name[33];
    char item_name[65];
    double max_bid;         /* after the bid */
    int is_highest;
};

#endif
