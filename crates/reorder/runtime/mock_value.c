/*
 * The rows of the answers. Each value is a function of the seed, of the query's key and of its row
 * and column.
 *
 * A seed that 4 divides, or that leaves the rest 1, gives plain answers: one row, one changed row,
 * values of the column's type. The rest 2 varies the number of rows, the rest 3 also gives odd
 * values: null, empty, text where a number is likely, long text. With the rest 0 one number in
 * eight is special (see mock_candidate.c), with the others more are.
 */
#include "mock_core.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COLUMNS = 256, UNKNOWN_COLUMNS = 16 };

struct hint {
    char table[64];
    char column[64];
    char type[128];
};

uint64_t mockdb_hash(uint64_t hash, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    hash ^= hash >> 32;
    hash *= UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

uint64_t mockdb_random(uint64_t *state, uint64_t limit)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t value = *state;
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (value ^ (value >> 31)) % limit;
}

char *mockdb_allocate(struct mockdb_result *result, size_t size)
{
    size_t least = size < 4 ? 4 : size;
    struct mockdb_block *block = calloc(1, sizeof *block + least);
    if (block == NULL)
        exit(MOCKDB_EXIT_NO_MEMORY);
    block->size = least;
    block->next = result->blocks;
    result->blocks = block;
    return block->bytes;
}

char *mockdb_copy(struct mockdb_result *result, const char *text, size_t length)
{
    char *copy = mockdb_allocate(result, length + 1);
    memcpy(copy, text, length);
    return copy;
}

/* Reads the file with the types of the columns, once. */
static const struct hint *hints(size_t *count)
{
    static struct hint *all;
    static size_t length;
    static bool loaded;
    const char *path = getenv("MOCKDB_COLUMNS");
    FILE *file = !loaded && path != NULL ? fopen(path, "r") : NULL;
    struct hint hint;
    loaded = true;
    while (file != NULL
           && fscanf(file, "%63s %63s %127[^\n]", hint.table, hint.column, hint.type) == 3) {
        struct hint *longer = realloc(all, (length + 1) * sizeof *all);
        if (longer == NULL)
            exit(MOCKDB_EXIT_NO_MEMORY);
        all = longer;
        all[length++] = hint;
    }
    if (file != NULL)
        fclose(file);
    *count = length;
    return all;
}

static bool same(struct mockdb_text text, const char *name)
{
    if (text.length != strlen(name))
        return false;
    for (size_t i = 0; i < text.length; i++) {
        if (tolower((unsigned char)text.start[i]) != tolower((unsigned char)name[i]))
            return false;
    }
    return true;
}

/* Returns the type of the column that an item names first, from a table of the statement if one has
 * it; NULL if there is none. */
static const char *type_of(struct mockdb_text sql, struct mockdb_text item)
{
    size_t count;
    const struct hint *all = hints(&count);
    const char *any = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!mockdb_mentions(item, all[i].column))
            continue;
        if (mockdb_mentions(sql, all[i].table))
            return all[i].type;
        any = any != NULL ? any : all[i].type;
    }
    return any;
}

static void add_column(struct mockdb_result *result, struct mockdb_text name, const char *type)
{
    struct mockdb_column *column = &result->columns[result->fields];
    if (result->fields == MAX_COLUMNS)
        return;
    column->name = mockdb_copy(result, name.start, name.length);
    column->type = type;
    for (char *at = column->name; *at != '\0'; at++)
        *at = (char)tolower((unsigned char)*at);
    result->fields++;
}

/* Adds the columns of all tables that the statement mentions; returns false if none is known. */
static bool add_all_columns(struct mockdb_result *result, struct mockdb_text sql)
{
    size_t count;
    const struct hint *all = hints(&count);
    int before = result->fields;
    for (size_t i = 0; i < count; i++) {
        struct mockdb_text name = {all[i].column, strlen(all[i].column)};
        if (mockdb_mentions(sql, all[i].table))
            add_column(result, name, all[i].type);
    }
    return result->fields > before;
}

static void add_unknown_columns(struct mockdb_result *result)
{
    result->names_unknown = true;
    for (int i = 1; i <= UNKNOWN_COLUMNS; i++) {
        char name[16];
        struct mockdb_text text = {name, (size_t)snprintf(name, sizeof name, "column%d", i)};
        add_column(result, text, NULL);
    }
}

static void fill_columns(struct mockdb_result *result, struct mockdb_text sql)
{
    struct mockdb_text items[MAX_COLUMNS];
    int count = mockdb_items(sql, items, MAX_COLUMNS);
    result->columns = calloc(MAX_COLUMNS, sizeof *result->columns);
    if (result->columns == NULL)
        exit(MOCKDB_EXIT_NO_MEMORY);
    if (count < 0)
        add_unknown_columns(result);
    for (int i = 0; i < count; i++) {
        bool star = items[i].length > 0 && items[i].start[items[i].length - 1] == '*';
        if (!star)
            add_column(result, mockdb_item_name(items[i]), type_of(sql, items[i]));
        else if (!add_all_columns(result, sql))
            add_unknown_columns(result);
    }
}

/* Returns the number in the parentheses of a type, or 0. */
static int length_of(const char *type)
{
    const char *open = type != NULL ? strchr(type, '(') : NULL;
    return open != NULL ? atoi(open + 1) : 0;
}

static bool type_has(const char *type, const char *part)
{
    struct mockdb_text text = {type, type != NULL ? strlen(type) : 0};
    size_t length = strlen(part);
    for (; text.length >= length; text.start++, text.length--) {
        struct mockdb_text head = {text.start, length};
        if (same(head, part))
            return true;
    }
    return false;
}

/* Writes a text; a column of a fixed length is filled with spaces, as PostgreSQL does. */
static int pad(char *to, int length, int limit, const char *type)
{
    bool padded = mockdb_api.server == MOCKDB_POSTGRESQL && type_has(type, "char(")
                  && !type_has(type, "varchar") && length_of(type) > 0;
    for (; padded && length < limit; length++)
        to[length] = ' ';
    return length;
}

/* Writes a text of letters, or one that the program knows. */
static int draw_letters(char *to, int capacity, uint64_t *state, const char *type)
{
    int limit = length_of(type), length;
    limit = limit <= 0 || limit > capacity ? (limit > capacity ? capacity : 12) : limit;
    const char *known = mockdb_random(state, 8) < 3 ? mockdb_special_text(state, true) : NULL;
    size_t room = length_of(type) > 0 ? (size_t)limit : (size_t)capacity;
    if (known != NULL && strlen(known) <= room) {
        memcpy(to, known, strlen(known));
        return pad(to, (int)strlen(known), limit, type);
    }
    length = mockdb_random(state, 8) == 0 ? limit : 1 + (int)mockdb_random(state, (uint64_t)limit);
    for (int i = 0; i < length; i++)
        to[i] = (char)('a' + mockdb_random(state, 26));
    return pad(to, length, limit, type);
}

/* Draws a number: small, or one that the program is likely to treat in a way of its own. */
static long long draw_number(uint64_t *state, const char *type)
{
    static const unsigned special[] = {2, 5, 8, 5};
    if (mockdb_random(state, 16) < special[mockdb_seed() % 4]) {
        long long value = mockdb_special_number(state, true);
        if (value >= 0 || !type_has(type, "unsigned"))
            return value;
    }
    uint64_t limit = mockdb_random(state, 4) == 0 ? 10000 : 20;
    return (long long)(1 + mockdb_random(state, limit));
}

static bool is_real(const char *type)
{
    return type_has(type, "numeric") || type_has(type, "decimal") || type_has(type, "real")
           || type_has(type, "double") || type_has(type, "float");
}

static int draw_bool(char *to, size_t capacity, uint64_t *state)
{
    bool words = mockdb_api.server == MOCKDB_POSTGRESQL;
    bool value = mockdb_random(state, 2) == 0;
    return snprintf(to, capacity, "%s", value ? words ? "t" : "1" : words ? "f" : "0");
}

/* Writes a point in time, or one of the forms of bytes. */
static int draw_form(char *to, size_t capacity, uint64_t *state, const char *type)
{
    unsigned number = 1 + (unsigned)mockdb_random(state, 10000);
    unsigned part = (unsigned)mockdb_random(state, 100);
    if (type_has(type, "timestamp") || type_has(type, "datetime"))
        return snprintf(to, capacity, "2024-%02u-%02u %02u:%02u:%02u", 1 + part % 12,
                        1 + number % 28, number % 24, part % 60, number % 60);
    if (type_has(type, "date"))
        return snprintf(to, capacity, "2024-%02u-%02u", 1 + part % 12, 1 + number % 28);
    if (type_has(type, "bytea"))
        return snprintf(to, capacity, "\\x%04x", number);
    if (type_has(type, "uuid"))
        return snprintf(to, capacity, "%08x-0000-4000-8000-%012x", number, part);
    return 0;
}

/* Writes a value of a type; digits if the type is not known. */
static int draw_typed(char *to, size_t capacity, uint64_t *state, const char *type)
{
    if (type_has(type, "bool"))
        return draw_bool(to, capacity, state);
    if (type_has(type, "char") || type_has(type, "text") || type_has(type, "blob"))
        return draw_letters(to, (int)capacity - 1, state, type);
    int length = draw_form(to, capacity, state, type);
    if (length > 0)
        return length;
    long long number = draw_number(state, type);
    if (is_real(type)) {
        unsigned part = mockdb_random(state, 4) == 0 ? 0 : (unsigned)mockdb_random(state, 100);
        return snprintf(to, capacity, "%lld.%02u", number, part);
    }
    const char *known = type == NULL && mockdb_random(state, 8) == 0
                            ? mockdb_special_text(state, true) : NULL;
    if (known != NULL && strlen(known) < capacity)
        return snprintf(to, capacity, "%s", known);
    return snprintf(to, capacity, "%lld", number);
}

/* Writes an odd value where one may stand: -1 for null. */
static int draw_odd(char *to, size_t capacity, uint64_t *state, const char *type)
{
    bool nullable = !type_has(type, "not null") && !type_has(type, "primary key");
    bool text = type_has(type, "char") || type_has(type, "text");
    switch (mockdb_random(state, type == NULL ? 6 : text ? 2 : 1)) {
    case 0:
        return nullable ? -1 : draw_typed(to, capacity, state, type);
    case 1:
        return snprintf(to, capacity, "%s", type == NULL ? "0" : "");
    case 2:
        return snprintf(to, capacity, "-%u", 1 + (unsigned)mockdb_random(state, 100));
    case 3:
        return snprintf(to, capacity, "%u.25", (unsigned)mockdb_random(state, 100));
    case 4:
        return draw_letters(to, 8, state, NULL);
    default:
        memset(to, 'x', 40);
        return 40;
    }
}

static void draw(struct mockdb_result *result, struct mockdb_value *value, uint64_t *state,
                 const char *type)
{
    char text[512];
    bool odd = mockdb_seed() % 4 == 3 && mockdb_random(state, 8) == 0;
    int length = odd ? draw_odd(text, sizeof text, state, type)
                     : draw_typed(text, sizeof text, state, type);
    value->null = length < 0;
    value->length = length < 0 ? 0 : length;
    value->text = mockdb_copy(result, text, (size_t)value->length);
}

/* Draws a number of rows: mostly one. */
static int draw_rows(uint64_t *state, struct mockdb_limits limits)
{
    uint64_t choice = mockdb_random(state, 16);
    int rows = 1;
    if (mockdb_seed() % 4 >= 2 && choice < 6)
        rows = choice == 0 ? 0 : 2 + (int)mockdb_random(state, 3);
    rows = rows < limits.least ? limits.least : rows;
    return limits.most >= 0 && rows > limits.most ? limits.most : rows;
}

static void fill_values(struct mockdb_result *result, uint64_t state)
{
    size_t count = (size_t)result->rows * (size_t)result->fields;
    result->values = calloc(count > 0 ? count : 1, sizeof *result->values);
    if (result->values == NULL)
        exit(MOCKDB_EXIT_NO_MEMORY);
    for (size_t i = 0; i < count; i++) {
        const struct mockdb_column *column = &result->columns[i % (size_t)result->fields];
        uint64_t own = mockdb_hash(state, column->name, strlen(column->name));
        own = mockdb_hash(own, &i, sizeof i);
        draw(result, &result->values[i], &own, column->type);
    }
}

struct mockdb_result *mockdb_describe(struct mockdb_text sql)
{
    struct mockdb_result *result = mockdb_new_result();
    enum mockdb_statement statement = mockdb_classify(sql);
    result->ended = true;
    if (statement == MOCKDB_ROWS || statement == MOCKDB_CHANGE)
        fill_columns(result, sql);
    return result;
}

int mockdb_field_count(struct mockdb_text sql)
{
    return mockdb_describe(sql)->fields;
}

/* An aggregate over no rows: null, and 0 for a count. */
static void clear_values(struct mockdb_result *result)
{
    for (int i = 0; i < result->rows * result->fields; i++) {
        bool counts = strcmp(result->columns[i % result->fields].name, "count") == 0;
        result->values[i].text = mockdb_copy(result, counts ? "0" : "", counts ? 1 : 0);
        result->values[i].length = counts ? 1 : 0;
        result->values[i].null = !counts;
    }
}

static void count_changes(struct mockdb_result *result, struct mockdb_text sql, int rows)
{
    char text[64];
    bool insert = strcmp(mockdb_verb(sql), "INSERT") == 0;
    bool numbers = insert || strcmp(mockdb_verb(sql), "REPLACE") == 0;
    int length = snprintf(text, sizeof text, "%d", rows);
    result->affected = mockdb_copy(result, text, (size_t)length);
    result->changed = rows;
    if (result->statement == MOCKDB_CHANGE && numbers && rows > 0)
        result->inserted = (long long)(1 + result->key % 100000);
    length = snprintf(text, sizeof text, "%s%s %d", mockdb_verb(sql), insert ? " 0" : "", rows);
    result->tag = mockdb_copy(result, text, (size_t)length);
}

void mockdb_fill(struct mockdb_result *result, struct mockdb_text sql, bool empty)
{
    uint64_t seed = mockdb_seed();
    uint64_t state = mockdb_hash(result->key, &seed, sizeof seed);
    struct mockdb_limits limits = mockdb_limits_of(sql, result->statement);
    int rows = draw_rows(&state, limits);
    bool aggregate = result->statement == MOCKDB_ROWS && limits.least == 1;
    result->always = limits.least > 0 && !aggregate;
    rows = empty && limits.least == 0 ? 0 : rows;
    fill_columns(result, sql);
    result->rows = result->fields > 0 ? rows : 0;
    fill_values(result, state);
    if (empty && aggregate)
        clear_values(result);
    count_changes(result, sql, rows);
}
