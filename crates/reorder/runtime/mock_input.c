/* Inputs and outputs of the program under test, each by its place. */
#define _POSIX_C_SOURCE 200809L

#include "mock_input.h"
#include "mock_core.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_SIZE = 1024, PATH_DEPTH = 64 };

static char path[PATH_SIZE];
static size_t ends[PATH_DEPTH];
static size_t depth;

static void append(const char *text)
{
    size_t length = strlen(path);
    if (depth == PATH_DEPTH)
        mockdb_unsupported("inputs are nested too deeply");
    ends[depth++] = length;
    snprintf(path + length, sizeof path - length, "%s", text);
}

void mockdb_push(const char *name)
{
    char part[256];
    snprintf(part, sizeof part, "%s%s", depth > 0 ? "." : "", name);
    append(part);
}

void mockdb_push_index(unsigned long index)
{
    char part[32];
    snprintf(part, sizeof part, "[%lu]", index);
    append(part);
}

void mockdb_pop(void)
{
    if (depth > 0)
        path[ends[--depth]] = '\0';
}

/* Returns the random state of the current place. */
static uint64_t state_here(void)
{
    uint64_t seed = mockdb_seed();
    uint64_t hash = mockdb_hash(UINT64_C(0x84222325cbf29ce4), path, strlen(path));
    return mockdb_hash(hash, &seed, sizeof seed);
}

static void record(const char *event, const char *value, size_t length)
{
    FILE *log = mockdb_log();
    if (log == NULL)
        return;
    fprintf(log, "{\"event\":\"%s\",\"path\":", event);
    mockdb_log_text(log, path, strlen(path));
    fputs(",\"value\":", log);
    mockdb_log_text(log, value, length);
    fputs("}\n", log);
    fflush(log);
}

static void record_integer(const char *event, long long value)
{
    if (*event == 'i')
        mockdb_input_was_number(value);
    char text[32];
    int length = snprintf(text, sizeof text, "%lld", value);
    record(event, text, (size_t)length);
}

/* Draws zero often, since it selects branches, and small numbers, since they count. */
static long long draw_small(uint64_t *state)
{
    uint64_t seed = mockdb_seed();
    if (mockdb_random(state, 8) == 0)
        return mockdb_special_number(state, false);
    if (seed % 4 == 3 && mockdb_random(state, 16) == 0)
        return mockdb_random(state, 2) == 0 ? -1 : 100000;
    return (long long)mockdb_random(state, seed % 2 == 0 ? 10 : 3);
}

static long long draw(long long low, long long high, uint64_t *state)
{
    if (low > high)
        return draw_small(state);
    uint64_t span = (uint64_t)high - (uint64_t)low;
    uint64_t step = mockdb_random(state, span == UINT64_MAX ? span : span + 1);
    return (long long)((uint64_t)low + step);
}

long long mockdb_input_integer(long long low, long long high)
{
    uint64_t state = state_here();
    long long value = draw(low, high, &state);
    record_integer("input", value);
    return value;
}

double mockdb_input_real(long long low, long long high)
{
    char text[64];
    uint64_t state = state_here();
    double value = (double)draw(low, high, &state);
    if (low > high)
        value += (double)mockdb_random(&state, 100) / 100.0;
    int length = snprintf(text, sizeof text, "%.17g", value);
    record("input", text, (size_t)length);
    return value;
}

static void record_text_input(const char *text)
{
    mockdb_input_was_text(text, strlen(text));
    record("input", text, strlen(text));
}

static void draw_text(char *to, size_t limit, const char *const *texts, unsigned long count)
{
    uint64_t state = state_here();
    if (count > 0) {
        snprintf(to, limit + 1, "%s", texts[mockdb_random(&state, count)]);
        record_text_input(to);
        return;
    }
    /* The empty text selects branches as 0 does. */
    if (mockdb_random(&state, 8) == 0)
        limit = 0;
    const char *known = mockdb_random(&state, 2) == 0 ? mockdb_special_text(&state, false) : NULL;
    if (known != NULL && strlen(known) <= limit) {
        memcpy(to, known, strlen(known) + 1);
        record_text_input(to);
        return;
    }
    bool digits = mockdb_random(&state, 2) == 0;
    size_t most = limit < 8 ? limit : 8;
    size_t length = most == 0 ? 0 : 1 + (size_t)mockdb_random(&state, most);
    for (size_t i = 0; i < length; i++)
        to[i] = (char)(digits ? '1' + mockdb_random(&state, 9) : 'a' + mockdb_random(&state, 26));
    to[length] = '\0';
    record_text_input(to);
}

void *mockdb_input_memory(unsigned long size)
{
    void *memory = calloc(1, size > 0 ? size : 1);
    if (memory == NULL)
        exit(MOCKDB_EXIT_NO_MEMORY);
    return memory;
}

void mockdb_input_bytes(void *place, unsigned long size, const char *const *texts,
                        unsigned long count)
{
    memset(place, 0, size);
    if (size > 0)
        draw_text(place, size - 1, texts, count);
}

char *mockdb_input_text(const char *const *texts, unsigned long count)
{
    char text[1024];
    draw_text(text, sizeof text - 1, texts, count);
    char *copy = mockdb_input_memory(strlen(text) + 1);
    memcpy(copy, text, strlen(text));
    return copy;
}

void mockdb_output_integer(long long value)
{
    record_integer("output", value);
}

void mockdb_output_real(double value)
{
    char text[64];
    int length = snprintf(text, sizeof text, "%.17g", value);
    record("output", text, (size_t)length);
}

void mockdb_output_bytes(const void *bytes, unsigned long size)
{
    record("output", bytes, size);
}

void mockdb_output_text(const char *text)
{
    if (text == NULL)
        record("output", "(null)", 6);
    else
        record("output", text, strlen(text));
}

void mockdb_output_null(int null)
{
    record("output", null ? "(null)" : "(not null)", null ? 6 : 10);
}

static void mark(const char *event)
{
    FILE *log = mockdb_log();
    if (log == NULL)
        return;
    fprintf(log, "{\"event\":\"%s\"}\n", event);
    fflush(log);
}

void mockdb_call_begins(void)
{
    const char *limit = getenv("MOCKDB_LIMIT");
    if (limit != NULL)
        alarm((unsigned)strtoul(limit, NULL, 10));
    mockdb_start_clock();
    mark("begins");
}

void mockdb_call_ends(void)
{
    mark("ends");
}
