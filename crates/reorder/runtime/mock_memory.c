/*
 * The memory of results, and memory that the program gives back. The end of the process records
 * what it has kept.
 */
#include "mock_core.h"

#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define FREES_BLOCKS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FREES_BLOCKS 1
#endif
#endif
#ifndef FREES_BLOCKS
#define FREES_BLOCKS 0
#endif

struct loan {
    struct loan *next;
    void *memory;
    size_t size;
    bool ended;
};

static struct mockdb_result *results;
static struct loan *loans;

/* Records what the program has not given back; runs at the end of the process. */
static void record_leaks(void)
{
    for (struct mockdb_result *result = results; result != NULL; result = result->next) {
        if (!result->ended)
            mockdb_misuse("a result is not cleared", result->key);
    }
    for (struct loan *loan = loans; loan != NULL; loan = loan->next) {
        if (!loan->ended)
            mockdb_misuse("memory of the interface is not freed", 0);
    }
}

static void watch_leaks(void)
{
    static bool watched;
    if (!watched)
        atexit(record_leaks);
    watched = true;
}

struct mockdb_result *mockdb_new_result(void)
{
    struct mockdb_result *result = calloc(1, sizeof *result);
    if (result == NULL)
        exit(MOCKDB_EXIT_NO_MEMORY);
    watch_leaks();
    result->message = result->tag = result->affected = mockdb_copy(result, "", 0);
    result->next = results;
    results = result;
    return result;
}

struct mockdb_result *mockdb_error(const char *sqlstate, const char *message)
{
    struct mockdb_result *result = mockdb_new_result();
    result->sqlstate = sqlstate;
    result->message = mockdb_copy(result, message, strlen(message));
    return result;
}

bool mockdb_end(struct mockdb_result *result)
{
    if (result->ended) {
        mockdb_misuse("a result is cleared twice", result->key);
        return false;
    }
    result->ended = true;
    for (struct mockdb_block *block = result->blocks, *next; block != NULL; block = next) {
        next = block->next;
        memset(block->bytes, 0xDD, block->size - 1);
        if (FREES_BLOCKS)
            free(block);
    }
    result->blocks = FREES_BLOCKS ? NULL : result->blocks;
    return true;
}

bool mockdb_usable(const struct mockdb_result *result, const char *call)
{
    char text[128];
    if (!result->ended)
        return true;
    snprintf(text, sizeof text, "%s on a result that is cleared", call);
    mockdb_misuse(text, result->key);
    return false;
}

void *mockdb_lend(size_t size)
{
    struct loan *loan = calloc(1, sizeof *loan);
    void *memory = calloc(1, size + 1);
    if (loan == NULL || memory == NULL)
        exit(MOCKDB_EXIT_NO_MEMORY);
    watch_leaks();
    loan->memory = memory;
    loan->size = size;
    loan->next = loans;
    loans = loan;
    return memory;
}

void mockdb_give_back(void *memory)
{
    struct loan *loan = loans;
    while (loan != NULL && (loan->memory != memory || (FREES_BLOCKS && loan->ended)))
        loan = loan->next;
    if (memory == NULL)
        return;
    if (loan == NULL || loan->ended) {
        mockdb_misuse("memory is freed that the interface has not lent", 0);
        return;
    }
    loan->ended = true;
    memset(memory, 0xDD, loan->size);
    if (FREES_BLOCKS)
        free(memory);
}
