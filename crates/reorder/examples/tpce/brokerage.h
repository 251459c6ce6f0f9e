/* TPC-E: what the customers, the brokers and the market send for each transaction, and what they
 * get back. */
#ifndef TPCE_BROKERAGE_H
#define TPCE_BROKERAGE_H

#define MAX_TRADES 20       /* that a trade update looks at */
#define MAX_HISTORY 3       /* entries in the history of a trade */
#define MAX_STATUS 50       /* trades that a trade status shows */

struct trade_order_input {
    int acct_id;
    char exec_f_name[21];   /* who orders: the customer or somebody with the permission to */
    char exec_l_name[26];
    char exec_tax_id[21];
    char symbol[16];        /* empty if the security is given by company and issue */
    char co_name[61];
    char issue[7];
    char trade_type_id[4];
    int trade_qty;
    double requested_price; /* of a limit order */
    int is_lifo;
    int type_is_margin;
    int roll_it_back;
};

struct trade_order_output {
    long long trade_id;
    char status_id[5];
    char cust_f_name[21];
    char cust_l_name[26];
    char broker_name[50];
    char co_name[61];
    char s_name[71];
    double requested_price;
    double buy_value;
    double sell_value;
    double tax_amount;
    double comm_rate;
    double charge_amount;
    double acct_assets;
};

struct trade_result_input {
    long long trade_id;
    double trade_price;
};

struct trade_result_output {
    int acct_id;
    double acct_bal;
    double buy_value;
    double sell_value;
    double tax_amount;
    double comm_amount;
};

struct trade_update_input {
    int max_trades;         /* at most MAX_TRADES */
    int max_updates;
    int acct_id;            /* of frame 2, which chooses the trades itself */
    long long trade_id[MAX_TRADES]; /* of frame 1, all different */
};

struct trade_update_output {
    int num_found;
    int num_updated;
    struct {
        double bid_price;
        double trade_price;
        char exec_name[65];
        int is_cash;
        int is_market;
        double settlement_amount;
        char settlement_cash_due_date[32];
        char settlement_cash_type[41];
        double cash_transaction_amount;
        char cash_transaction_dts[32];
        char cash_transaction_name[101];
        char history_dts[MAX_HISTORY][32];
        char history_status_id[MAX_HISTORY][5];
    } trades[MAX_TRADES];
};

struct trade_status_input {
    int acct_id;
};

struct trade_status_output {
    char cust_l_name[26];
    char cust_f_name[21];
    char broker_name[50];
    int num_found;
    struct {
        long long trade_id;
        char trade_dts[32];
        char status_name[11];
        char type_name[13];
        char symbol[16];
        int trade_qty;
        char exec_name[65];
        double charge;
        char s_name[71];
        char ex_name[101];
    } trades[MAX_STATUS];
};

#endif
