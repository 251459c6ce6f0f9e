/*
 * The number of rows that a statement can find or change, as far as its text and the keys of the
 * tables say: at most one for a full key, one for each tuple of VALUES, one for an aggregate.
 */
#include "mock_token.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_EQUAL = 16, MAX_COLUMNS = 64 };

struct key {
    struct key *next;
    char table[64];
    char columns[512]; /* separated by spaces */
};

/* Reads the file with the keys, once. */
static const struct key *keys(void)
{
    static struct key *all;
    static bool loaded;
    const char *path = getenv("MOCKDB_KEYS");
    FILE *file = !loaded && path != NULL ? fopen(path, "r") : NULL;
    struct key key = {NULL, "", ""};
    loaded = true;
    while (file != NULL && fscanf(file, "%63s %511[^\n]", key.table, key.columns) == 2) {
        struct key *one = malloc(sizeof *one);
        if (one == NULL)
            exit(MOCKDB_EXIT_NO_MEMORY);
        *one = key;
        one->next = all;
        all = one;
    }
    if (file != NULL)
        fclose(file);
    return all;
}

/* The columns that a condition sets equal to one value. */
struct equal {
    struct mockdb_token columns[MAX_EQUAL];
    int count;
};

static bool is_name(struct mockdb_token token)
{
    return token.kind == TOKEN_WORD || token.kind == TOKEN_QUOTED;
}

/* Returns true if the tokens from `at` are one value that does not depend on the row. */
static bool is_value(const struct mockdb_token *at, int count)
{
    if (count == 2 && (mockdb_is_sign(at[0], '-') || mockdb_is_sign(at[0], '$')
                       || mockdb_is_sign(at[0], '?')))
        return at[1].kind == TOKEN_LITERAL;
    if (count == 2)
        return (mockdb_is_sign(at[0], ':') || mockdb_is_sign(at[0], '@')) && is_name(at[1]);
    return count == 1 && (at[0].kind == TOKEN_LITERAL || mockdb_is_sign(at[0], '?'));
}

/* Adds the column if the tokens are `column = value`. */
static void add_equality(struct equal *equal, const struct mockdb_token *tokens, int count)
{
    int first = count > 2 && mockdb_is_sign(tokens[1], '.') ? 2 : 0, at = first + 1;
    if (count < first + 3 || !is_name(tokens[first]) || !mockdb_is_sign(tokens[at], '='))
        return;
    at += mockdb_is_sign(tokens[at + 1], '=') ? 2 : 1;
    /* A cast behind the value. */
    int end = count;
    if (end - at > 3 && mockdb_is_sign(tokens[end - 2], ':')
        && mockdb_is_sign(tokens[end - 3], ':'))
        end -= 3;
    if (is_value(tokens + at, end - at) && equal->count < MAX_EQUAL)
        equal->columns[equal->count++] = tokens[first];
}

/* Finds the equalities that hold in all rows: those of a condition without OR. */
static void find_equalities(struct mockdb_text sql, struct equal *equal)
{
    static const char *const ends[] = {"group", "order",  "limit", "for",    "returning",
                                       "union", "having", "lock",  "window", NULL};
    struct mockdb_scanner scanner = mockdb_scanner_of(sql);
    int depth = mockdb_main_word(&scanner).depth, count = 0;
    struct mockdb_token tokens[MAX_COLUMNS], token = mockdb_next_token(&scanner);
    equal->count = 0;
    while (token.kind != TOKEN_END && !(token.depth == depth && mockdb_is(token, "where")))
        token = mockdb_next_token(&scanner);
    while (token.kind != TOKEN_END) {
        token = mockdb_next_token(&scanner);
        bool here = token.depth == depth;
        bool last = token.kind == TOKEN_END || token.depth < depth
                    || (here && mockdb_is_one_of(token, ends));
        if (here && mockdb_is(token, "or")) {
            equal->count = 0;
            return;
        }
        if (last || (here && mockdb_is(token, "and"))) {
            add_equality(equal, tokens, count < MAX_COLUMNS ? count : 0);
            count = 0;
        } else if (count++ < MAX_COLUMNS) {
            tokens[count - 1] = token;
        }
        if (last)
            return;
    }
}

static bool names(struct mockdb_token token, const char *name, size_t length)
{
    size_t quotes = token.kind == TOKEN_QUOTED ? 1 : 0;
    if (token.length != length + 2 * quotes)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (tolower((unsigned char)token.start[i + quotes]) != tolower((unsigned char)name[i]))
            return false;
    }
    return true;
}

static bool covers(const struct equal *equal, const char *columns)
{
    while (*columns != '\0') {
        size_t length = strcspn(columns, " ");
        int i = 0;
        while (i < equal->count && !names(equal->columns[i], columns, length))
            i++;
        if (i == equal->count)
            return false;
        columns += length;
        columns += strspn(columns, " ");
    }
    return true;
}

/* Returns true if the statement names one table of the schema, and one row of it by a key. */
static bool has_full_key(struct mockdb_text sql)
{
    struct equal equal;
    const char *table = NULL;
    bool full = false;
    find_equalities(sql, &equal);
    for (const struct key *key = keys(); key != NULL; key = key->next) {
        if (!mockdb_mentions(sql, key->table))
            continue;
        if (table != NULL && strcmp(table, key->table) != 0)
            return false;
        table = key->table;
        full = full || covers(&equal, key->columns);
    }
    return full;
}

/* Returns the number of tuples of VALUES, or 0 if the rows come from a query. */
static int tuples(struct mockdb_text sql)
{
    struct mockdb_scanner scanner = mockdb_scanner_of(sql);
    int depth = mockdb_main_word(&scanner).depth, count = 0;
    bool values = false;
    struct mockdb_token token;
    while ((token = mockdb_next_token(&scanner)).kind != TOKEN_END) {
        if (token.depth != depth)
            continue;
        if (mockdb_is(token, "on") || mockdb_is(token, "returning") || mockdb_is(token, "as"))
            break;
        values = values || mockdb_is(token, "values") || mockdb_is(token, "value");
        count += values && mockdb_is_sign(token, '(');
    }
    return values ? count : mockdb_mentions(sql, "default") && !mockdb_mentions(sql, "select");
}

static bool is_one_aggregate(struct mockdb_text sql)
{
    struct mockdb_text items[MAX_COLUMNS];
    int count = mockdb_items(sql, items, MAX_COLUMNS);
    for (int i = 0; i < count; i++) {
        if (mockdb_is_aggregate(items[i]))
            return !mockdb_mentions(sql, "group");
    }
    return false;
}

static struct mockdb_limits of_insert(struct mockdb_text sql, bool replaces)
{
    int count = tuples(sql);
    struct mockdb_limits limits = {count, count > 0 ? count : -1};
    if (mockdb_mentions(sql, "ignore") || mockdb_mentions(sql, "nothing"))
        limits.least = 0;
    if (mockdb_mentions(sql, "duplicate"))
        limits.least = 0;
    if (count > 0 && (replaces || mockdb_mentions(sql, "duplicate")))
        limits.most = mockdb_api.server == MOCKDB_MYSQL ? 2 * count : count;
    return limits;
}

struct mockdb_limits mockdb_limits_of(struct mockdb_text sql, enum mockdb_statement statement)
{
    const char *verb = mockdb_verb(sql);
    struct mockdb_limits limits = {0, -1}, one = {1, 1}, none_or_one = {0, 1};
    if (strcmp(verb, "INSERT") == 0 || strcmp(verb, "REPLACE") == 0)
        return of_insert(sql, *verb == 'R');
    if (statement == MOCKDB_ROWS && is_one_aggregate(sql))
        return one;
    if (has_full_key(sql))
        return none_or_one;
    if (statement == MOCKDB_ROWS) {
        struct mockdb_scanner scanner = mockdb_scanner_of(sql);
        struct mockdb_token token, before = {TOKEN_END, NULL, 0, 0};
        while ((token = mockdb_next_token(&scanner)).kind != TOKEN_END) {
            if (token.depth == 0 && mockdb_is(before, "limit") && names(token, "1", 1))
                limits.most = 1;
            before = token;
        }
        if (!mockdb_mentions(sql, "from"))
            return one;
    }
    return limits;
}
