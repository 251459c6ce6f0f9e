/* TPC-E for the driver: what the customers and the market send, and the consistency conditions. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "../workload.h"
#include "population.h"

#define MOST_WAITING 65536

/* The size of the database. */
static int accounts, securities, trades;

/* The trades that were submitted to the market and have no result yet. */
static struct {
    pthread_mutex_t lock;
    long long ids[MOST_WAITING];
    int count;
} market = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Takes a trade that waits for its result. Returns 0 if there is none. */
static long long take_submitted(void)
{
    long long id = 0;

    pthread_mutex_lock(&market.lock);
    if (market.count > 0)
        id = market.ids[--market.count];
    pthread_mutex_unlock(&market.lock);
    return id;
}

static void committed(enum transaction transaction, const union transaction_output *out)
{
    if (transaction != TRADE_ORDER || strcmp(out->trade_order.status_id, "SBMT") != 0)
        return;
    pthread_mutex_lock(&market.lock);
    if (market.count < MOST_WAITING)
        market.ids[market.count++] = out->trade_order.trade_id;
    pthread_mutex_unlock(&market.lock);
}

/* A limit order never gets a result here: nothing plays the ticker. */
static void trade_order_in(struct random *random, struct trade_order_input *in)
{
    static const char *const types[] = { "TMB", "TMS", "TLB", "TLS", "TSL" };
    static const int quantities[] = { 100, 200, 400, 800 };
    int ticket = uniform(random, 1, 100), security;

    memset(in, 0, sizeof *in);
    in->acct_id = uniform(random, 1, accounts);
    if (ticket <= 90)
        customer_names(in->exec_f_name, in->exec_l_name, in->exec_tax_id,
                       customer_of(in->acct_id));
    else
        agent_names(in->exec_f_name, in->exec_l_name, in->exec_tax_id,
                    ticket == 100 ? in->acct_id + accounts : in->acct_id);
    security = security_of(in->acct_id, uniform(random, 0, SYMBOLS - 1), securities);
    if (uniform(random, 1, 100) <= 60) {
        symbol_name(in->symbol, security);
    } else {
        company_name(in->co_name, company_of(security));
        snprintf(in->issue, sizeof in->issue, "%s", issue_of(security));
    }
    ticket = uniform(random, 1, 10);
    snprintf(in->trade_type_id, sizeof in->trade_type_id, "%s",
             types[ticket <= 3 ? 0 : ticket <= 6 ? 1 : ticket <= 8 ? 2 : ticket - 6]);
    in->trade_qty = quantities[uniform(random, 0, 3)];
    in->requested_price = uniform(random, 2000, 3000) / 100.0;
    in->is_lifo = uniform(random, 1, 100) <= 35;
    in->type_is_margin = uniform(random, 1, 100) <= 8;
    in->roll_it_back = uniform(random, 1, 100) == 1;
}

/* Draws different trades. */
static void trade_update_in(struct random *random, struct trade_update_input *in)
{
    memset(in, 0, sizeof *in);
    in->max_trades = trades < MAX_TRADES ? trades : MAX_TRADES;
    in->max_updates = in->max_trades;
    in->acct_id = uniform(random, 1, trades < accounts ? trades : accounts);
    for (int i = 0; i < in->max_trades; i++) {
        int j;

        do {
            in->trade_id[i] = uniform(random, 1, trades);
            for (j = 0; in->trade_id[j] != in->trade_id[i]; j++)
                continue;
        } while (j < i);
    }
}

static enum transaction draw(enum transaction wanted, int client, struct random *random,
                             union transaction_input *in)
{
    (void)client;
    switch (wanted) {
    case TRADE_RESULT:
        in->trade_result.trade_id = take_submitted();
        in->trade_result.trade_price = uniform(random, 2000, 3000) / 100.0;
        if (in->trade_result.trade_id != 0)
            return wanted;
        /* The market has nothing to do; a customer orders something. */
        trade_order_in(random, &in->trade_order);
        snprintf(in->trade_order.trade_type_id, sizeof in->trade_order.trade_type_id, "%s",
                 uniform(random, 0, 1) ? "TMB" : "TMS");
        return TRADE_ORDER;
    case TRADE_UPDATE:
        trade_update_in(random, &in->trade_update);
        return wanted;
    case TRADE_STATUS:
        in->trade_status.acct_id = uniform(random, 1, accounts);
        return wanted;
    default:
        trade_order_in(random, &in->trade_order);
        return wanted;
    }
}

static int measure(struct client *client, int *size)
{
    double account_count, security_count, trade_count;

    /* Trade updates want completed trades: those that were loaded. */
    if (client_number(client, "SELECT count(*) FROM customer_account", &account_count) != 0 ||
        client_number(client, "SELECT count(*) FROM security", &security_count) != 0 ||
        client_number(client, "SELECT count(*) FROM trade WHERE t_exec_name LIKE 'Loaded %'",
                      &trade_count) != 0)
        return -1;
    if (trade_count < 1 || *size > trade_count) {
        fprintf(stderr, "driver: the database has %.0f loaded trades\n", trade_count);
        return -1;
    }
    if (*size == 0)
        *size = (int)trade_count;
    accounts = (int)account_count;
    securities = (int)security_count;
    trades = *size;
    return 0;
}

static const struct condition conditions[] = {
    { "1: b_num_trades is the number of completed trades of the broker",
      "SELECT count(*) FROM broker WHERE b_num_trades <> "
      "(SELECT count(*) FROM trade JOIN customer_account ON ca_id = t_ca_id "
      "WHERE ca_b_id = b_id AND t_st_id = 'CMPT')" },
    { "2: b_comm_total is the sum of t_comm of completed trades of the broker",
      "SELECT count(*) FROM broker WHERE b_comm_total <> "
      "(SELECT coalesce(sum(t_comm), 0) FROM trade JOIN customer_account ON ca_id = t_ca_id "
      "WHERE ca_b_id = b_id AND t_st_id = 'CMPT')" },
    { "3: hs_qty is the sum of h_qty and is not 0",
      "SELECT count(*) FROM holding_summary WHERE hs_qty = 0 OR hs_qty <> "
      "(SELECT coalesce(sum(h_qty), 0) FROM holding "
      "WHERE h_ca_id = hs_ca_id AND h_s_symb = hs_s_symb)" },
    { "a trade has a settlement if and only if it is completed",
      "SELECT count(*) FROM trade LEFT JOIN settlement ON se_t_id = t_id "
      "WHERE (t_st_id = 'CMPT') <> (se_t_id IS NOT NULL)" },
    { "a completed trade has a cash transaction if and only if it is for cash",
      "SELECT count(*) FROM trade LEFT JOIN cash_transaction ON ct_t_id = t_id "
      "WHERE (t_st_id = 'CMPT' AND t_is_cash) <> (ct_t_id IS NOT NULL)" },
    { "ca_bal is the first balance and the sum of ct_amt",
      "SELECT count(*) FROM customer_account WHERE ca_bal - 1000000 <> "
      "(SELECT coalesce(sum(ct_amt), 0) FROM cash_transaction JOIN trade ON t_id = ct_t_id "
      "WHERE t_ca_id = ca_id)" },
    { "a trade waits for its limit if and only if it has a request",
      "SELECT count(*) FROM trade LEFT JOIN trade_request ON tr_t_id = t_id "
      "WHERE (t_st_id = 'PNDG') <> (tr_t_id IS NOT NULL)" },
    { "the history of a trade has its status",
      "SELECT count(*) FROM trade LEFT JOIN trade_history ON th_t_id = t_id "
      "AND th_st_id = t_st_id WHERE th_t_id IS NULL" },
    { "the holding history of a completed trade adds up to its quantity",
      "SELECT count(*) FROM trade WHERE t_st_id = 'CMPT' AND t_qty <> "
      "(SELECT coalesce(sum(abs(hh_before_qty - hh_after_qty)), 0) FROM holding_history "
      "WHERE hh_t_id = t_id)" },
    { "the name of who orders has at most one middle initial",
      "SELECT count(*) FROM trade WHERE t_exec_name LIKE '% X % X %' "
      "OR t_exec_name NOT LIKE '% %'" },
    { "a settlement says in which way its trade is paid",
      "SELECT count(*) FROM settlement JOIN trade ON t_id = se_t_id "
      "WHERE t_is_cash <> (se_cash_type LIKE 'Cash%')" },
};

const struct workload tpce_workload = {
    .size_name = "trades",
    .first = TRADE_ORDER,
    .last = TRADE_STATUS,
    .weights = { [TRADE_ORDER] = 10, [TRADE_RESULT] = 10, [TRADE_UPDATE] = 2,
                 [TRADE_STATUS] = 19 },
    .measure = measure,
    .draw = draw,
    .committed = committed,
    .conditions = conditions,
    .condition_count = sizeof conditions / sizeof *conditions,
};
