/*
 * For each query: the number of executions, the sum of their times in nanoseconds, the sum of the
 * squares, and a histogram. Times below 16 have a bucket each; above, each power of two has 16.
 *
 * A query, once registered, is never moved or freed, so measuring takes only its own lock.
 */

#define _POSIX_C_SOURCE 200809L

#include "clearway_profile.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define QUERIES_MAX 4096
#define BUCKETS 976

struct query {
    pthread_mutex_t lock;
    char *function;
    char *sql;
    unsigned ordinal;
    uint64_t count;
    uint64_t sum;
    double squares;
    uint64_t buckets[BUCKETS];
};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct query *queries[QUERIES_MAX];
static int query_count;

/* Writers of the same file at once would mix what they write. */
static pthread_mutex_t write_lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static unsigned bucket_of(uint64_t time)
{
    unsigned shift = 0;
    while (time >> shift >= 32)
        shift++;
    return shift * 16 + (unsigned)(time >> shift);
}

/* A child process starts with nothing measured; its parent writes what came before. */
static void reset(void)
{
    pthread_mutex_init(&table_lock, NULL);
    pthread_mutex_init(&write_lock, NULL);
    for (int id = 0; id < QUERIES_MAX && queries[id]; id++) {
        struct query *query = queries[id];
        pthread_mutex_init(&query->lock, NULL);
        query->count = query->sum = 0;
        query->squares = 0;
        memset(query->buckets, 0, sizeof query->buckets);
    }
}

static void write_at_exit(void)
{
    if (clearway_profile_write(NULL) != 0)
        fprintf(stderr, "clearway_profile: the profile cannot be written: %s\n", strerror(errno));
}

static struct query *new_query(const char *function, const char *sql, unsigned ordinal)
{
    struct query *query = calloc(1, sizeof *query);
    if (!query)
        return NULL;
    query->function = strdup(function);
    query->sql = strdup(sql);
    query->ordinal = ordinal;
    if (!query->function || !query->sql || pthread_mutex_init(&query->lock, NULL) != 0) {
        free(query->function);
        free(query->sql);
        free(query);
        return NULL;
    }
    return query;
}

static int find_or_add(const char *function, const char *sql, unsigned ordinal)
{
    for (int id = 0; id < query_count; id++) {
        const struct query *query = queries[id];
        if (query->ordinal == ordinal && strcmp(query->function, function) == 0
            && strcmp(query->sql, sql) == 0)
            return id;
    }
    if (query_count == QUERIES_MAX) {
        fprintf(stderr, "clearway_profile: more than %d queries; one of %s is not measured\n",
                QUERIES_MAX, function);
        return -1;
    }
    struct query *query = new_query(function, sql, ordinal);
    if (!query)
        return -1;
    if (query_count == 0) {
        atexit(write_at_exit);
        pthread_atfork(NULL, NULL, reset);
    }
    queries[query_count] = query;
    return query_count++;
}

int clearway_profile_register(const char *function, const char *sql, unsigned ordinal)
{
    pthread_mutex_lock(&table_lock);
    int id = find_or_add(function, sql, ordinal);
    pthread_mutex_unlock(&table_lock);
    return id;
}

struct clearway_profile_timer clearway_profile_begin(int id)
{
    struct clearway_profile_timer timer = {id, now()};
    return timer;
}

void clearway_profile_end(const struct clearway_profile_timer *timer)
{
    /* The program may read the errno that its query has set. */
    int error = errno;
    uint64_t time = now() - timer->begun;
    if (timer->id < 0 || timer->id >= QUERIES_MAX || !queries[timer->id])
        return;
    struct query *query = queries[timer->id];
    pthread_mutex_lock(&query->lock);
    query->count++;
    query->sum += time;
    query->squares += (double)time * (double)time;
    query->buckets[bucket_of(time)]++;
    pthread_mutex_unlock(&query->lock);
    errno = error;
}

/* Returns the length of the UTF-8 character at `text`; 0 if there is none. */
static int character(const unsigned char *text)
{
    int length = *text < 0x80 ? 1 : *text < 0xc2 ? 0 : *text < 0xe0 ? 2 : *text < 0xf0 ? 3 : 4;
    if (*text > 0xf4 || (*text == 0xe0 && text[1] < 0xa0) || (*text == 0xed && text[1] > 0x9f)
        || (*text == 0xf0 && text[1] < 0x90) || (*text == 0xf4 && text[1] > 0x8f))
        return 0;
    for (int at = 1; at < length; at++)
        if ((text[at] & 0xc0) != 0x80)
            return 0;
    return length;
}

static void write_string(FILE *file, const char *string)
{
    const unsigned char *text = (const unsigned char *)string;
    putc('"', file);
    while (*text) {
        int length = character(text);
        if (length == 0)
            fputs("\\ufffd", file);
        else if (*text < 0x20)
            fprintf(file, "\\u%04x", *text);
        else if (*text == '"' || *text == '\\')
            fprintf(file, "\\%c", *text);
        else
            fwrite(text, 1, (size_t)length, file);
        text += length == 0 ? 1 : length;
    }
    putc('"', file);
}

static void write_query(FILE *file, struct query *query)
{
    fputs("{\"function\": ", file);
    write_string(file, query->function);
    fputs(", \"sql\": ", file);
    write_string(file, query->sql);
    pthread_mutex_lock(&query->lock);
    /* Without a fraction, the number does not depend on the locale. */
    fprintf(file,
            ", \"ordinal\": %u, \"count\": %" PRIu64 ", \"sum\": %" PRIu64
            ", \"squares\": %.0f, \"buckets\": [",
            query->ordinal, query->count, query->sum, query->squares);
    const char *separator = "";
    for (unsigned at = 0; at < BUCKETS; at++) {
        if (query->buckets[at] == 0)
            continue;
        fprintf(file, "%s[%u, %" PRIu64 "]", separator, at, query->buckets[at]);
        separator = ", ";
    }
    pthread_mutex_unlock(&query->lock);
    fputs("]}", file);
}

static int write_file(const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return -1;
    pthread_mutex_lock(&table_lock);
    int count = query_count;
    pthread_mutex_unlock(&table_lock);
    fputs("{\"version\": 1, \"queries\": [", file);
    for (int id = 0; id < count; id++) {
        fputs(id == 0 ? "\n" : ",\n", file);
        write_query(file, queries[id]);
    }
    fputs("\n]}\n", file);
    int failed = ferror(file);
    return fclose(file) != 0 || failed ? -1 : 0;
}

/* Replaces each %p by the number of the process. */
static char *expand(const char *pattern)
{
    char pid[24];
    int digits = snprintf(pid, sizeof pid, "%ld", (long)getpid());
    char *path = malloc(strlen(pattern) * (size_t)digits + 1);
    if (!path)
        return NULL;
    char *to = path;
    while (*pattern) {
        if (pattern[0] == '%' && pattern[1] == 'p') {
            memcpy(to, pid, (size_t)digits);
            to += digits;
            pattern += 2;
        } else {
            *to++ = *pattern++;
        }
    }
    *to = '\0';
    return path;
}

/* The file appears complete or not at all, even if several processes write it. */
static int replace_file(const char *path)
{
    size_t size = strlen(path) + sizeof ".partial" + 24;
    char *partial = malloc(size);
    if (!partial)
        return -1;
    snprintf(partial, size, "%s.partial%ld", path, (long)getpid());
    pthread_mutex_lock(&write_lock);
    int result = write_file(partial) == 0 ? rename(partial, path) : -1;
    pthread_mutex_unlock(&write_lock);
    int error = errno;
    if (result != 0)
        remove(partial);
    free(partial);
    errno = error;
    return result;
}

int clearway_profile_write(const char *path)
{
    if (path)
        return replace_file(path);
    const char *pattern = getenv("CLEARWAY_PROFILE");
    char *expanded = expand(pattern && *pattern ? pattern : "clearway-profile.json");
    if (!expanded)
        return -1;
    int result = replace_file(expanded);
    int error = errno;
    free(expanded);
    errno = error;
    return result;
}
