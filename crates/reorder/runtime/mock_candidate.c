/*
 * The values that a program is likely to treat in a way of their own: 0, 1 and -1, the constants
 * that it compares with, and its inputs. Random values are often one of them.
 */
#include "mock_core.h"
#include "mock_input.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_CANDIDATES = 512 };

struct numbers {
    long long values[MAX_CANDIDATES];
    size_t count;
};

struct texts {
    char *values[MAX_CANDIDATES];
    size_t count;
};

static struct numbers constants, input_numbers;
static struct texts constant_texts, input_texts;

static void add_number(struct numbers *all, long long value)
{
    for (size_t i = 0; i < all->count; i++) {
        if (all->values[i] == value)
            return;
    }
    if (all->count < MAX_CANDIDATES)
        all->values[all->count++] = value;
}

static void add_text(struct texts *all, const char *text, size_t length)
{
    char *copy = calloc(1, length + 1);
    if (copy == NULL)
        exit(MOCKDB_EXIT_NO_MEMORY);
    memcpy(copy, text, length);
    for (size_t i = 0; i < all->count; i++) {
        if (strcmp(all->values[i], copy) == 0) {
            free(copy);
            return;
        }
    }
    if (all->count < MAX_CANDIDATES)
        all->values[all->count++] = copy;
    else
        free(copy);
}

void mockdb_constant(long long value)
{
    add_number(&constants, value);
}

void mockdb_constant_text(const char *text)
{
    add_text(&constant_texts, text, strlen(text));
}

void mockdb_input_was_number(long long value)
{
    add_number(&input_numbers, value);
}

void mockdb_input_was_text(const char *text, size_t length)
{
    add_text(&input_texts, text, length);
}

long long mockdb_special_number(uint64_t *state, bool inputs)
{
    static const long long boundaries[] = {0, 1, -1, 0};
    uint64_t choice = mockdb_random(state, 8);
    if (choice < 4 && constants.count > 0) {
        long long value = constants.values[mockdb_random(state, constants.count)];
        /* Beside a limit, the comparison has the other result. */
        return choice == 3 ? value + (mockdb_random(state, 2) == 0 ? 1 : -1) : value;
    }
    if (inputs && choice < 6 && input_numbers.count > 0)
        return input_numbers.values[mockdb_random(state, input_numbers.count)];
    return boundaries[mockdb_random(state, 4)];
}

const char *mockdb_special_text(uint64_t *state, bool inputs)
{
    bool input = inputs && input_texts.count > 0 && mockdb_random(state, 4) == 0;
    const struct texts *all = input ? &input_texts : &constant_texts;
    return all->count > 0 ? all->values[mockdb_random(state, all->count)] : NULL;
}
