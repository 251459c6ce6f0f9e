/* Runs transactions with several clients and prints what it measured as JSON:
 *
 *     driver ADDRESS [clients=8] [seconds=10] [warmup=1] [seed=1] [warehouses=ALL]
 *            [mix=payment:45,new_order:43,order_status:4,delivery:4,stock_level:4]
 *
 * The clients have no think time. A transaction whose query fails counts as aborted and is tried
 * again; its latency is that of all attempts. Only transactions that begin and end in the measured
 * time count. Without mix=, the transactions that the program was linked with run, in these
 * proportions. At the end the driver checks TPC-C's consistency conditions; if one is violated, it
 * ends with status 1. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "client.h"
#include "tpcc/check.h"
#include "tpcc/random.h"

#define MOST_ATTEMPTS 1000

static const char *const names[TRANSACTIONS] = {
    [PAYMENT] = "payment",           [NEW_ORDER] = "new_order",
    [ORDER_STATUS] = "order_status", [DELIVERY] = "delivery",
    [STOCK_LEVEL] = "stock_level",
};

struct settings {
    const char *address;
    int clients;
    double seconds;
    double warmup;
    int seed;
    int warehouses;     /* 0: all that the database has */
    int customers;      /* of a district */
    int items;
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
    int w_id;           /* the terminal's home warehouse */
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

/* Inputs, by the clauses 2.4.1 to 2.8.1. */

static int other_warehouse(struct worker *worker)
{
    int count = worker->settings->warehouses;
    int w_id;

    if (count == 1)
        return worker->w_id;
    w_id = uniform(&worker->random, 1, count - 1);
    return w_id >= worker->w_id ? w_id + 1 : w_id;
}

static int random_customer(struct worker *worker)
{
    return nurand(&worker->random, 1023, 1, worker->settings->customers);
}

/* Draws a last name that some customer of each district has. */
static void random_name(struct worker *worker, char name[17])
{
    int known = worker->settings->customers < 1000 ? worker->settings->customers : 1000;

    last_name(name, nurand(&worker->random, 255, 0, known - 1));
}

static void payment_in(struct worker *worker, struct payment_input *in)
{
    struct random *random = &worker->random;

    memset(in, 0, sizeof *in);
    in->w_id = worker->w_id;
    in->d_id = uniform(random, 1, DISTRICTS);
    in->c_w_id = in->w_id;
    in->c_d_id = in->d_id;
    if (uniform(random, 1, 100) > 85) {
        in->c_w_id = other_warehouse(worker);
        in->c_d_id = uniform(random, 1, DISTRICTS);
    }
    if (uniform(random, 1, 100) <= 60)
        random_name(worker, in->c_last);
    else
        in->c_id = random_customer(worker);
    in->h_amount = uniform(random, 100, 500000) / 100.0;
}

static void new_order_in(struct worker *worker, struct new_order_input *in)
{
    struct random *random = &worker->random;

    memset(in, 0, sizeof *in);
    in->w_id = worker->w_id;
    in->d_id = uniform(random, 1, DISTRICTS);
    in->c_id = random_customer(worker);
    in->ol_cnt = uniform(random, 5, MAX_LINES);
    for (int i = 0; i < in->ol_cnt; i++) {
        in->lines[i].i_id = nurand(random, 8191, 1, worker->settings->items);
        in->lines[i].supply_w_id = in->w_id;
        if (uniform(random, 1, 100) == 1)
            in->lines[i].supply_w_id = other_warehouse(worker);
        in->lines[i].quantity = uniform(random, 1, 10);
    }
    if (uniform(random, 1, 100) == 1)
        in->lines[in->ol_cnt - 1].i_id = worker->settings->items + 1;
}

static void order_status_in(struct worker *worker, struct order_status_input *in)
{
    memset(in, 0, sizeof *in);
    in->w_id = worker->w_id;
    in->d_id = uniform(&worker->random, 1, DISTRICTS);
    if (uniform(&worker->random, 1, 100) <= 60)
        random_name(worker, in->c_last);
    else
        in->c_id = random_customer(worker);
}

static enum transaction draw(struct worker *worker, union transaction_input *in)
{
    int ticket = uniform(&worker->random, 1, worker->settings->total_weight);
    int transaction = 0;

    while ((ticket -= worker->settings->weights[transaction]) > 0)
        transaction++;
    switch (transaction) {
    case PAYMENT:
        payment_in(worker, &in->payment);
        break;
    case NEW_ORDER:
        new_order_in(worker, &in->new_order);
        break;
    case ORDER_STATUS:
        order_status_in(worker, &in->order_status);
        break;
    case DELIVERY:
        in->delivery.w_id = worker->w_id;
        in->delivery.o_carrier_id = uniform(&worker->random, 1, 10);
        break;
    default:
        in->stock_level.w_id = worker->w_id;
        in->stock_level.d_id = uniform(&worker->random, 1, DISTRICTS);
        in->stock_level.threshold = uniform(&worker->random, 10, 20);
        break;
    }
    return (enum transaction)transaction;
}

/* Runs one client until the end of the measured time. */
static void *work(void *argument)
{
    struct worker *worker = argument;
    union transaction_input in;

    while (now() < worker->end) {
        enum transaction transaction = draw(worker, &in);
        struct measured *measured = &worker->measured[transaction];
        double begin = now(), end;
        int attempts = 0, status;

        while ((status = client_run(worker->client, transaction, &in)) == FAILED) {
            if (begin >= worker->start)
                measured->aborts++;
            if (++attempts == MOST_ATTEMPTS || !client_alive(worker->client)) {
                fprintf(stderr, "driver: %s failed %d times\n", names[transaction], attempts);
                worker->failed = 1;
                return NULL;
            }
        }
        end = now();
        if (begin >= worker->start && end <= worker->end) {
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

static int parse(struct settings *settings, int argc, char **argv)
{
    static const int standard[TRANSACTIONS] = { 45, 43, 4, 4, 4 };

    if (argc < 2)
        return -1;
    *settings = (struct settings){
        .address = argv[1], .clients = 8, .seconds = 10, .warmup = 1, .seed = 1,
    };
    for (int i = 0; i < TRANSACTIONS; i++)
        settings->weights[i] = client_has((enum transaction)i) ? standard[i] : 0;
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
        else if (strcmp(argv[i], "warehouses") == 0)
            settings->warehouses = atoi(value);
        else if (strcmp(argv[i], "mix") != 0 || set_mix(settings, value) != 0)
            return -1;
    }
    for (int i = 0; i < TRANSACTIONS; i++)
        settings->total_weight += settings->weights[i];
    if (settings->clients < 1 || settings->seconds <= 0 || settings->warmup < 0 ||
        settings->warehouses < 0 || settings->total_weight == 0)
        return -1;
    return 0;
}

/* Reads the size of the database. */
static int measure_database(struct settings *settings, struct client *client)
{
    double warehouses, customers, items;

    if (client_number(client, "SELECT count(*) FROM warehouse", &warehouses) != 0 ||
        client_number(client, "SELECT count(*) FROM customer WHERE c_w_id = 1 AND c_d_id = 1",
                      &customers) != 0 ||
        client_number(client, "SELECT count(*) FROM item", &items) != 0)
        return -1;
    if (warehouses < 1 || settings->warehouses > warehouses) {
        fprintf(stderr, "driver: the database has %.0f warehouses\n", warehouses);
        return -1;
    }
    if (settings->warehouses == 0)
        settings->warehouses = (int)warehouses;
    settings->customers = (int)customers;
    settings->items = (int)items;
    return 0;
}

static int run(struct settings *settings, struct worker *workers, double *busy)
{
    struct processors before, after;
    struct timespec warmup;
    double start;
    int failed = 0;

    for (int i = 0; i < settings->clients; i++) {
        workers[i].settings = settings;
        workers[i].w_id = i % settings->warehouses + 1;
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

    printf("{\"clients\": %d, \"warehouses\": %d, \"seconds\": %.3f, ", settings->clients,
           settings->warehouses, settings->seconds);
    printf("\"transactions\": {");
    for (int t = 0; t < TRANSACTIONS; t++) {
        struct measured one = { 0 };

        for (int i = 0; i < settings->clients; i++)
            append(&one, &workers[i].measured[t]);
        append(&all, &one);
        if (settings->weights[t] > 0) {
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
        fputs("usage: driver ADDRESS [clients=N] [seconds=S] [warmup=S] [seed=N] [warehouses=N]\n"
              "              [mix=payment:45,new_order:43,...]\n",
              stderr);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    client = client_open(settings.address);
    if (client == NULL || measure_database(&settings, client) != 0)
        return 1;
    workers = calloc((size_t)settings.clients, sizeof *workers);
    if (workers == NULL || run(&settings, workers, &busy) != 0)
        return 1;
    violated = check_consistency(client);
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
