/* TPC-C: what a terminal enters for each transaction, and what it shows afterwards. */
#ifndef TPCC_TERMINAL_H
#define TPCC_TERMINAL_H

#define MAX_LINES 15        /* of an order */
#define DISTRICTS 10        /* of a warehouse */

struct payment_input {
    int w_id;
    int d_id;
    int c_w_id;
    int c_d_id;
    int c_id;               /* 0 if the customer is given by name */
    char c_last[17];
    double h_amount;
};

struct payment_output {
    char w_name[11];
    char w_street_1[21];
    char w_street_2[21];
    char w_city[21];
    char w_state[3];
    char w_zip[10];
    char d_name[11];
    char d_street_1[21];
    char d_street_2[21];
    char d_city[21];
    char d_state[3];
    char d_zip[10];
    int c_id;
    char c_first[17];
    char c_middle[3];
    char c_last[17];
    char c_street_1[21];
    char c_street_2[21];
    char c_city[21];
    char c_state[3];
    char c_zip[10];
    char c_phone[17];
    char c_since[32];
    char c_credit[3];
    double c_credit_lim;
    double c_discount;
    double c_balance;
    char c_data[501];       /* empty unless the customer has bad credit */
};

struct new_order_line {
    int i_id;
    int supply_w_id;
    int quantity;
};

struct new_order_input {
    int w_id;
    int d_id;
    int c_id;
    int ol_cnt;
    struct new_order_line lines[MAX_LINES];
};

struct new_order_output {
    int o_id;
    char c_last[17];
    char c_credit[3];
    double c_discount;
    double w_tax;
    double d_tax;
    double total;
    struct {
        char i_name[25];
        double i_price;
        double amount;
        int s_quantity;
        char brand_generic;
    } lines[MAX_LINES];
};

struct order_status_input {
    int w_id;
    int d_id;
    int c_id;               /* 0 if the customer is given by name */
    char c_last[17];
};

struct order_status_output {
    int c_id;
    char c_first[17];
    char c_middle[3];
    char c_last[17];
    double c_balance;
    int o_id;
    int o_carrier_id;       /* 0 if the order was not delivered */
    char o_entry_d[32];
    int ol_cnt;
    struct {
        int i_id;
        int supply_w_id;
        int quantity;
        double amount;
        char delivery_d[32];
    } lines[MAX_LINES];
};

struct delivery_input {
    int w_id;
    int o_carrier_id;
};

struct delivery_output {
    int o_id[DISTRICTS];    /* 0 if the district had no order to deliver */
};

struct stock_level_input {
    int w_id;
    int d_id;
    int threshold;
};

struct stock_level_output {
    int low_stock;
};

#endif
