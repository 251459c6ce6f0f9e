/* Runs transactions with several clients and prints what it measured as JSON:
 *
 *     driver ADDRESS [clients=8] [seconds=10] [warmup=1] [seed=1] [check=1]
 *            [mix=TRANSACTION:WEIGHT,...] [warehouses=ALL | trades=ALL | items=ALL]
 *
 * The transactions are those that the program was linked with; all of a mix work on one database:
 * payment, new_order, order_status, delivery, stock_level (TPC-C), trade_order, trade_result,
 * trade_update, trade_status (TPC-E), or bid. Without mix=, they run in the proportions of the
 * specification. The clients use the first warehouses, trades or items of the database.
 *
 * The clients have no think time. A transaction whose query fails counts as aborted and is tried
 * again; its latency is that of all attempts. Transactions that end in the measured time count. At
 * the end the driver checks the consistency conditions of the database; if one is violated, it ends
 * with status 1. In a large database that takes seconds; check=0 leaves it out. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "workload.h"

#define MOST_ATTEMPTS 1000

static const char *const names[TRANSACTIONS] = {
    [PAYMENT] = "payment",           [NEW_ORDER] = "new_order",
    [ORDER_STATUS] = "order_status", [DELIVERY] = "delivery",
    [STOCK_LEVEL] = "stock_level",   [TRADE_ORDER] = "trade_order",
    [TRADE_RESULT] = "trade_result", [TRADE_UPDATE] = "trade_update",
    [TRADE_STATUS] = "trade_status", [BID] = "bid",
};

static const struct workload *const workloads[] = {
    &tpcc_workload, &tpce_workload, &bidding_workload,
};

struct settings {
    const char *address;
    int clients;
    double seconds;
    double warmup;
    int seed;
    int check;
    const struct workload *workload;
    int size;           /* 0: all that the database has */
    int weights[TRANSACTIONS];
    int total_weight;
};

/* What was measured of one kind of transaction; the latencies are in seconds. */
struct measured {
    double *latencies;
    size_t count;
    size_t capacity;
    long aborts;
    long rolled_back;
};

struct worker {
    pthread_t thread;
    const struct settings *settings;
    struct client *client;
    struct random random;
    int number;
    double start;       /* of the measured time */
    double end;
    struct measured measured[TRANSACTIONS];
    int failed;
};

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void record(struct measured *measured, double latency)
{
    if (measured->count == measured->capacity) {
        measured->capacity = measured->capacity ? measured->capacity * 2 : 1024;
        measured->latencies =
            realloc(measured->latencies, measured->capacity * sizeof *measured->latencies);
        if (measured->latencies == NULL) {
            fputs("driver: out of memory\n", stderr);
            exit(1);
        }
    }
    measured->latencies[measured->count++] = latency;
}

static enum transaction draw(struct worker *worker, union transaction_input *in)
{
    const struct settings *settings = worker->settings;
    int ticket = uniform(&worker->random, 1, settings->total_weight);
    int transaction = 0;

    while ((ticket -= settings->weights[transaction]) > 0)
        transaction++;
    return settings->workload->draw((enum transaction)transaction, worker->number,
                                    &worker->random, in);
}

/* Runs one client until the end of the measured time. */
static void *work(void *argument)
{
    struct worker *worker = argument;
    union transaction_input in;
    union transaction_output out;

    while (now() < worker->end) {
        enum transaction transaction = draw(worker, &in);
        struct measured *measured = &worker->measured[transaction];
        double begin = now(), end;
        int attempts = 0, status;

        while ((status = client_run(worker->client, transaction, &in, &out)) == FAILED) {
            if (now() >= worker->start && now() <= worker->end)
                measured->aborts++;
            if (++attempts == MOST_ATTEMPTS || !client_alive(worker->client)) {
                fprintf(stderr, "driver: %s failed %d times\n", names[transaction], attempts);
                worker->failed = 1;
                return NULL;
            }
        }
        end = now();
        if (status == COMMITTED && worker->settings->workload->committed)
            worker->settings->workload->committed(transaction, &out);
        if (end >= worker->start && end <= worker->end) {
            record(measured, end - begin);
            measured->rolled_back += status == ROLLED_BACK;
        }
    }
    return NULL;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void append(struct measured *to, const struct measured *from)
{
    for (size_t i = 0; i < from->count; i++)
        record(to, from->latencies[i]);
    to->aborts += from->aborts;
    to->rolled_back += from->rolled_back;
}

static void print_measured(struct measured *measured, double seconds)
{
    double sum = 0, p95 = 0;

    if (measured->count > 0) {
        qsort(measured->latencies, measured->count, sizeof *measured->latencies, compare);
        p95 = measured->latencies[(measured->count * 95 - 1) / 100];
    }
    for (size_t i = 0; i < measured->count; i++)
        sum += measured->latencies[i];
    printf("\"count\": %zu, \"per_second\": %.1f, \"mean_ms\": %.3f, \"p95_ms\": %.3f, "
           "\"aborts\": %ld, \"rolled_back\": %ld",
           measured->count, (double)measured->count / seconds,
           measured->count ? sum / (double)measured->count * 1e3 : 0.0, p95 * 1e3,
           measured->aborts, measured->rolled_back);
}

/* The time that all processors of the machine were busy, and all their time, in ticks. */
struct processors {
    double busy;
    double all;
};

static struct processors processors(void)
{
    struct processors result = { 0, 0 };
    double ticks[8] = { 0 };
    FILE *file = fopen("/proc/stat", "r");

    if (file == NULL)
        return result;
    if (fscanf(file, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &ticks[0], &ticks[1], &ticks[2],
               &ticks[3], &ticks[4], &ticks[5], &ticks[6], &ticks[7]) == 8) {
        for (int i = 0; i < 8; i++)
            result.all += ticks[i];
        result.busy = result.all - ticks[3] - ticks[4];
    }
    fclose(file);
    return result;
}

static int set_mix(struct settings *settings, char *mix)
{
    memset(settings->weights, 0, sizeof settings->weights);
    for (char *part = strtok(mix, ","); part != NULL; part = strtok(NULL, ",")) {
        char *colon = strchr(part, ':');
        int weight = colon ? atoi(colon + 1) : 1, i = 0;

        if (colon)
            *colon = '\0';
        while (i < TRANSACTIONS && strcmp(names[i], part) != 0)
            i++;
        if (i == TRANSACTIONS || weight < 0 || !client_has((enum transaction)i)) {
            fprintf(stderr, "driver: there is no transaction %s in this program\n", part);
            return -1;
        }
        settings->weights[i] = weight;
    }
    return 0;
}

/* Finds the workload that all transactions of the mix belong to. */
static int find_workload(struct settings *settings)
{
    settings->total_weight = 0;
    for (int i = 0; i < TRANSACTIONS; i++)
        settings->total_weight += settings->weights[i];
    for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++) {
        int weight = 0;

        for (int t = workloads[i]->first; t <= (int)workloads[i]->last; t++)
            weight += settings->weights[t];
        if (weight > 0 && weight == settings->total_weight) {
            settings->workload = workloads[i];
            return 0;
        }
    }
    fputs("driver: the mix needs transactions, all of one database\n", stderr);
    return -1;
}

static int set_size(struct settings *settings, const char *name, const char *value)
{
    for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++) {
        if (strcmp(workloads[i]->size_name, name) == 0) {
            settings->size = atoi(value);
            return 0;
        }
    }
    return -1;
}

static int parse(struct settings *settings, int argc, char **argv)
{
    if (argc < 2)
        return -1;
    *settings = (struct settings){
        .address = argv[1], .clients = 8, .seconds = 10, .warmup = 1, .seed = 1,
        .check = 1,
    };
    for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++)
        for (int t = workloads[i]->first; t <= (int)workloads[i]->last; t++)
            if (client_has((enum transaction)t))
                settings->weights[t] = workloads[i]->weights[t];
    for (int i = 2; i < argc; i++) {
        char *value = strchr(argv[i], '=');

        if (value == NULL)
            return -1;
        *value++ = '\0';
        if (strcmp(argv[i], "clients") == 0)
            settings->clients = atoi(value);
        else if (strcmp(argv[i], "seconds") == 0)
            settings->seconds = atof(value);
        else if (strcmp(argv[i], "warmup") == 0)
            settings->warmup = atof(value);
        else if (strcmp(argv[i], "seed") == 0)
            settings->seed = atoi(value);
        else if (strcmp(argv[i], "check") == 0)
            settings->check = atoi(value);
        else if (set_size(settings, argv[i], value) != 0 &&
                 (strcmp(argv[i], "mix") != 0 || set_mix(settings, value) != 0))
            return -1;
    }
    if (settings->clients < 1 || settings->seconds <= 0 || settings->warmup < 0 ||
        settings->size < 0)
        return -1;
    return find_workload(settings);
}

/* Checks the conditions of the workload. Returns how many are violated, after a message on stderr
 * for each, or -1 if a query failed. */
static int check(const struct workload *workload, struct client *client)
{
    int violated = 0;
    double rows;

    for (size_t i = 0; i < workload->condition_count; i++) {
        const struct condition *condition = &workload->conditions[i];

        if (client_number(client, condition->violations, &rows) != 0)
            return -1;
        if (rows != 0) {
            fprintf(stderr, "condition %s: %.0f rows violate it\n", condition->name, rows);
            violated++;
        }
    }
    return violated;
}

static int run(struct settings *settings, struct worker *workers, double *busy)
{
    struct processors before, after;
    struct timespec warmup;
    double start;
    int failed = 0;

    for (int i = 0; i < settings->clients; i++) {
        workers[i].settings = settings;
        workers[i].number = i;
        random_seed(&workers[i].random, (uint64_t)settings->seed << 32 | (uint64_t)i);
        workers[i].client = client_open(settings->address);
        if (workers[i].client == NULL)
            return -1;
    }
    start = now() + settings->warmup;
    for (int i = 0; i < settings->clients; i++) {
        workers[i].start = start;
        workers[i].end = start + settings->seconds;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
            fputs("driver: cannot start a thread\n", stderr);
            exit(1);
        }
    }
    warmup.tv_sec = (time_t)settings->warmup;
    warmup.tv_nsec = (long)((settings->warmup - (double)warmup.tv_sec) * 1e9);
    nanosleep(&warmup, NULL);
    before = processors();
    for (int i = 0; i < settings->clients; i++) {
        pthread_join(workers[i].thread, NULL);
        failed |= workers[i].failed;
    }
    after = processors();
    *busy = after.all > before.all ? (after.busy - before.busy) / (after.all - before.all) : 0;
    for (int i = 0; i < settings->clients; i++)
        client_close(workers[i].client);
    return failed ? -1 : 0;
}

static void report(const struct settings *settings, struct worker *workers, double busy,
                   int violated)
{
    struct measured all = { 0 };
    struct rusage usage;
    const char *separator = "";

    printf("{\"clients\": %d, \"%s\": %d, \"seconds\": %.3f, ", settings->clients,
           settings->workload->size_name, settings->size, settings->seconds);
    printf("\"transactions\": {");
    for (int t = 0; t < TRANSACTIONS; t++) {
        struct measured one = { 0 };

        for (int i = 0; i < settings->clients; i++)
            append(&one, &workers[i].measured[t]);
        append(&all, &one);
        if (settings->weights[t] > 0 || one.count > 0) {
            printf("%s\"%s\": {", separator, names[t]);
            print_measured(&one, settings->seconds);
            printf("}");
            separator = ", ";
        }
        free(one.latencies);
    }
    printf("}, ");
    print_measured(&all, settings->seconds);
    free(all.latencies);
    getrusage(RUSAGE_SELF, &usage);
    printf(", \"processors_busy\": %.3f, \"driver_processor_seconds\": %.2f, ", busy,
           (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
               (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6);
    printf("\"violated_conditions\": %d}\n", violated);
}

int main(int argc, char **argv)
{
    struct settings settings;
    struct worker *workers;
    struct client *client;
    double busy;
    int violated;

    if (parse(&settings, argc, argv) != 0) {
        fputs("usage: driver ADDRESS [clients=N] [seconds=S] [warmup=S] [seed=N] [check=0|1]\n"
              "              [mix=T:WEIGHT,...] [warehouses=N | trades=N | items=N]\n",
              stderr);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    client = client_open(settings.address);
    if (client == NULL || settings.workload->measure(client, &settings.size) != 0)
        return 1;
    workers = calloc((size_t)settings.clients, sizeof *workers);
    if (workers == NULL || run(&settings, workers, &busy) != 0)
        return 1;
    violated = settings.check ? check(settings.workload, client) : 0;
    client_close(client);
    if (violated < 0)
        return 1;
    report(&settings, workers, busy, violated);
    for (int i = 0; i < settings.clients; i++)
        for (int t = 0; t < TRANSACTIONS; t++)
            free(workers[i].measured[t].latencies);
    free(workers);
    return violated > 0;
}
