/* Loads the initial data of the cut-down TPC-E:
 *
 *     load ADDRESS SCHEMA CUSTOMERS [TRADES]
 *
 * SCHEMA is the file with the tables; the tables of all examples are dropped first. There are two
 * accounts for each customer, a broker for 100 customers, 685 securities for 1000 customers, and
 * TRADES completed purchases (100 for each customer unless the call says how many), whose numbers
 * begin at 1. */
#include <stdio.h>
#include <stdlib.h>

#include "../batch.h"
#include "../tpcc/random.h"
#include "population.h"

struct trade {
    int account;
    int index;              /* of the security, among those of the account */
    int quantity;
    int price;              /* in cents, like the other amounts */
    int charge;
    int commission;
    int is_cash;
};

struct loader {
    struct client *client;
    struct random random;
    int customers;
    int accounts;
    int brokers;
    int securities;
    int trade_count;
    struct trade *trades;
};

static const char *const tables[] = {
    "holding_history", "holding", "holding_summary", "cash_transaction", "settlement",
    "trade_history", "trade_request", "trade", "charge", "commission_rate", "last_trade",
    "security", "company", "account_permission", "customer_account", "broker",
    "customer_taxrate", "customer", "taxrate", "trade_type", "status_type", "exchange",
};

static const char *const types[] = { "TMB", "TMS", "TLB", "TLS", "TSL" };
static const char *const exchanges[] = { "NYSE", "NASDAQ", "AMEX", "PCX" };

static int broker_of(const struct loader *loader, int account)
{
    return (account - 1) % loader->brokers + 1;
}

static void draw_trades(struct loader *loader)
{
    struct random *random = &loader->random;

    loader->trades = check_memory(calloc((size_t)loader->trade_count, sizeof *loader->trades));
    for (int i = 0; i < loader->trade_count; i++) {
        struct trade *trade = &loader->trades[i];

        trade->account = i % loader->accounts + 1;
        trade->index = uniform(random, 0, SYMBOLS - 1);
        trade->quantity = uniform(random, 1, 8) * 100;
        trade->price = uniform(random, 2000, 3000);
        trade->charge = uniform(random, 100, 500);
        trade->commission = trade->quantity * trade->price / 1000;
        trade->is_cash = uniform(random, 1, 100) <= 84;
    }
}

/* Returns what a purchase costs, in cents. */
static long long cost(const struct trade *trade)
{
    return (long long)trade->quantity * trade->price + trade->charge + trade->commission;
}

static void load_fixed(struct loader *loader)
{
    static const int quantities[][2] = {
        { 1, 100 }, { 101, 500 }, { 501, 1000 }, { 1001, 100000 },
    };
    struct batch rates = { .client = loader->client, .table = "commission_rate" };
    struct batch charges = { .client = loader->client, .table = "charge" };

    execute(loader->client, "INSERT INTO exchange VALUES ('NYSE','New York'),"
            "('NASDAQ','NASDAQ'),('AMEX','American'),('PCX','Pacific')");
    execute(loader->client, "INSERT INTO status_type VALUES ('CMPT','Completed'),"
            "('SBMT','Submitted'),('PNDG','Pending'),('CNCL','Canceled')");
    execute(loader->client, "INSERT INTO trade_type VALUES ('TMB','Market-Buy',FALSE,TRUE),"
            "('TMS','Market-Sell',TRUE,TRUE),('TLB','Limit-Buy',FALSE,FALSE),"
            "('TLS','Limit-Sell',TRUE,FALSE),('TSL','Stop-Loss',TRUE,FALSE)");
    execute(loader->client, "INSERT INTO taxrate VALUES ('US1','federal, low',0.15),"
            "('US2','federal, high',0.28),('CA1','state, low',0.02),('CA2','state, high',0.07)");
    for (int tier = 1; tier <= 3; tier++) {
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
            row(&charges, "'%s',%d,%d.50", types[t], tier, 5 - tier);
            for (size_t e = 0; e < sizeof exchanges / sizeof *exchanges; e++)
                for (int q = 0; q < 4; q++)
                    row(&rates, "%d,'%s','%s',%d,%d,%.2f", tier, types[t], exchanges[e],
                        quantities[q][0], quantities[q][1], 1.0 - 0.2 * q - 0.1 * tier);
        }
    }
    batch_end(&rates);
    batch_end(&charges);
}

static void load_customers(struct loader *loader)
{
    struct batch customers = { .client = loader->client, .table = "customer" };
    struct batch rates = { .client = loader->client, .table = "customer_taxrate" };
    char first[21], last[26], tax_id[21];

    for (int id = 1; id <= loader->customers; id++) {
        customer_names(first, last, tax_id, id);
        row(&customers, "%d,'%s','%s','%s',%d", id, tax_id, last, first,
            uniform(&loader->random, 1, 3));
    }
    batch_end(&customers);
    for (int id = 1; id <= loader->customers; id++) {
        row(&rates, "'US%d',%d", uniform(&loader->random, 1, 2), id);
        row(&rates, "'CA%d',%d", uniform(&loader->random, 1, 2), id);
    }
    batch_end(&rates);
}

static void load_accounts(struct loader *loader)
{
    struct batch accounts = { .client = loader->client, .table = "customer_account" };
    struct batch permissions = { .client = loader->client, .table = "account_permission" };
    struct batch brokers = { .client = loader->client, .table = "broker" };
    long long *balances = check_memory(calloc((size_t)loader->accounts, sizeof *balances));
    long long *totals = check_memory(calloc((size_t)loader->brokers, sizeof *totals));
    int *counts = check_memory(calloc((size_t)loader->brokers, sizeof *counts));
    char first[21], last[26], tax_id[21];

    for (int i = 0; i < loader->trade_count; i++) {
        const struct trade *trade = &loader->trades[i];
        int broker = broker_of(loader, trade->account) - 1;

        if (trade->is_cash)
            balances[trade->account - 1] -= cost(trade);
        totals[broker] += trade->commission;
        counts[broker]++;
    }
    for (int id = 1; id <= loader->brokers; id++)
        row(&brokers, "%d,'Broker %d',%d,%.2f", id, id, counts[id - 1],
            (double)totals[id - 1] / 100);
    batch_end(&brokers);
    for (int id = 1; id <= loader->accounts; id++)
        row(&accounts, "%d,%d,%d,'Account %d',%d,%.2f", id, broker_of(loader, id),
            customer_of(id), id, uniform(&loader->random, 0, 2),
            1000000 + (double)balances[id - 1] / 100);
    batch_end(&accounts);
    for (int id = 1; id <= loader->accounts; id++) {
        agent_names(first, last, tax_id, id);
        row(&permissions, "%d,'0011','%s','%s','%s'", id, tax_id, last, first);
    }
    batch_end(&permissions);
    free(balances);
    free(totals);
    free(counts);
}

static void load_securities(struct loader *loader)
{
    struct batch companies = { .client = loader->client, .table = "company" };
    struct batch securities = { .client = loader->client, .table = "security" };
    struct batch last_trades = { .client = loader->client, .table = "last_trade" };
    char name[61], symbol[16];

    for (int id = 1; id <= company_of(loader->securities); id++) {
        company_name(name, id);
        row(&companies, "%d,'%s'", id, name);
    }
    batch_end(&companies);
    for (int id = 1; id <= loader->securities; id++) {
        symbol_name(symbol, id);
        row(&securities, "'%s','%s','Security %d','%s',%d", symbol, issue_of(id), id,
            exchanges[id % 4], company_of(id));
    }
    batch_end(&securities);
    for (int id = 1; id <= loader->securities; id++) {
        symbol_name(symbol, id);
        row(&last_trades, "'%s',CURRENT_TIMESTAMP,%.2f,0", symbol,
            uniform(&loader->random, 2000, 3000) / 100.0);
    }
    batch_end(&last_trades);
}

static void load_trades(struct loader *loader)
{
    struct batch trades = {
        .client = loader->client,
        .table = "trade (t_dts, t_st_id, t_tt_id, t_is_cash, t_s_symb, t_qty, t_bid_price, "
                 "t_ca_id, t_exec_name, t_trade_price, t_chrg, t_comm, t_tax, t_lifo)",
    };
    struct batch history = { .client = loader->client, .table = "trade_history" };
    char symbol[16];

    for (int i = 0; i < loader->trade_count; i++) {
        const struct trade *trade = &loader->trades[i];

        symbol_name(symbol, security_of(trade->account, trade->index, loader->securities));
        row(&trades,
            "CURRENT_TIMESTAMP,'CMPT','%s',%s,'%s',%d,%.2f,%d,'Loaded %s%d',%.2f,%.2f,%.2f,0,"
            "FALSE",
            i % 4 == 0 ? "TLB" : "TMB", trade->is_cash ? "TRUE" : "FALSE", symbol,
            trade->quantity, trade->price / 100.0, trade->account, i % 2 ? "X " : "", trade->account,
            trade->price / 100.0, trade->charge / 100.0, trade->commission / 100.0);
    }
    batch_end(&trades);
    for (int id = 1; id <= loader->trade_count; id++) {
        if (id % 4 == 1)
            row(&history, "%d,CURRENT_TIMESTAMP,'PNDG'", id);
        row(&history, "%d,CURRENT_TIMESTAMP,'SBMT'", id);
        row(&history, "%d,CURRENT_TIMESTAMP,'CMPT'", id);
    }
    batch_end(&history);
}

static void load_settlements(struct loader *loader)
{
    struct batch settlements = { .client = loader->client, .table = "settlement" };
    struct batch cash = { .client = loader->client, .table = "cash_transaction" };

    for (int id = 1; id <= loader->trade_count; id++) {
        const struct trade *trade = &loader->trades[id - 1];

        row(&settlements, "%d,'%s',CURRENT_DATE,-%.2f", id,
            trade->is_cash ? "Cash Account" : "Margin", (double)cost(trade) / 100);
    }
    batch_end(&settlements);
    for (int id = 1; id <= loader->trade_count; id++) {
        const struct trade *trade = &loader->trades[id - 1];

        if (trade->is_cash)
            row(&cash, "%d,CURRENT_TIMESTAMP,-%.2f,'Market-Buy %d shares'", id,
                (double)cost(trade) / 100, trade->quantity);
    }
    batch_end(&cash);
}

static void load_holdings(struct loader *loader)
{
    struct batch summaries = { .client = loader->client, .table = "holding_summary" };
    struct batch holdings = { .client = loader->client, .table = "holding" };
    struct batch history = { .client = loader->client, .table = "holding_history" };
    size_t count = (size_t)loader->accounts * SYMBOLS;
    long long *quantities = check_memory(calloc(count, sizeof *quantities));
    char symbol[16];

    for (int i = 0; i < loader->trade_count; i++) {
        const struct trade *trade = &loader->trades[i];

        quantities[(trade->account - 1) * SYMBOLS + trade->index] += trade->quantity;
    }
    for (int account = 1; account <= loader->accounts; account++) {
        for (int index = 0; index < SYMBOLS; index++) {
            long long quantity = quantities[(account - 1) * SYMBOLS + index];

            symbol_name(symbol, security_of(account, index, loader->securities));
            if (quantity > 0)
                row(&summaries, "%d,'%s',%lld", account, symbol, quantity);
        }
    }
    batch_end(&summaries);
    free(quantities);
    for (int id = 1; id <= loader->trade_count; id++) {
        const struct trade *trade = &loader->trades[id - 1];

        symbol_name(symbol, security_of(trade->account, trade->index, loader->securities));
        row(&holdings, "%d,%d,'%s',CURRENT_TIMESTAMP,%.2f,%d", id, trade->account, symbol,
            trade->price / 100.0, trade->quantity);
    }
    batch_end(&holdings);
    for (int id = 1; id <= loader->trade_count; id++)
        row(&history, "%d,%d,0,%d", id, id, loader->trades[id - 1].quantity);
    batch_end(&history);
}

int main(int argc, char **argv)
{
    struct loader loader = { 0 };

    loader.customers = argc > 3 ? atoi(argv[3]) : 0;
    loader.trade_count = argc > 4 ? atoi(argv[4]) : loader.customers * 100;
    if (argc < 4 || argc > 5 || loader.customers < 1 || loader.trade_count < 1) {
        fputs("usage: load ADDRESS SCHEMA CUSTOMERS [TRADES]\n", stderr);
        return 2;
    }
    loader.accounts = loader.customers * 2;
    loader.brokers = (loader.customers + 99) / 100;
    loader.securities = loader.customers * 685 / 1000;
    if (loader.securities < SYMBOLS)
        loader.securities = SYMBOLS;
    random_seed(&loader.random, 1);
    loader.client = client_open(argv[1]);
    if (loader.client == NULL)
        return 1;
    draw_trades(&loader);
    create_tables(loader.client, argv[2]);
    execute(loader.client, "BEGIN");
    load_fixed(&loader);
    load_customers(&loader);
    load_accounts(&loader);
    load_securities(&loader);
    load_trades(&loader);
    load_settlements(&loader);
    load_holdings(&loader);
    finish(loader.client, tables, sizeof tables / sizeof *tables);
    free(loader.trades);
    printf("loaded %d customers and %d trades\n", loader.customers, loader.trade_count);
    return 0;
}
