/*
 * The rows of the answers. Each value is a function of the seed, of the query's key and of its row
 * and column.
 *
 * A seed that 4 divides, or that leaves the rest 1, gives plain answers: one row, one changed row,
 * values of the column's type. The rest 2 varies the number of rows, the rest 3 also gives odd
 * values: null, empty, text where a number is likely, long text.
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

/* Writes a text of letters; a column of a fixed length is filled with spaces. */
static int draw_letters(char *to, int capacity, uint64_t *state, const char *type)
{
    int limit = length_of(type), length;
    limit = limit <= 0 || limit > capacity ? (limit > capacity ? capacity : 12) : limit;
    length = mockdb_random(state, 8) == 0 ? limit : 1 + (int)mockdb_random(state, (uint64_t)limit);
    for (int i = 0; i < length; i++)
        to[i] = (char)('a' + mockdb_random(state, 26));
    bool padded = type_has(type, "char(") && !type_has(type, "varchar") && length_of(type) > 0;
    for (; padded && length < limit; length++)
        to[length] = ' ';
    return length;
}

static unsigned small(uint64_t *state)
{
    uint64_t limit = mockdb_random(state, 4) == 0 ? 10000 : 20;
    return (unsigned)(1 + mockdb_random(state, limit));
}

/* Writes a value of a type; digits if the type is not known. */
static int draw_typed(char *to, size_t capacity, uint64_t *state, const char *type)
{
    unsigned number = small(state), part = (unsigned)mockdb_random(state, 100);
    if (type_has(type, "bool"))
        return snprintf(to, capacity, "%s", number % 2 == 0 ? "t" : "f");
    if (type_has(type, "char") || type_has(type, "text"))
        return draw_letters(to, (int)capacity - 1, state, type);
    if (type_has(type, "timestamp"))
        return snprintf(to, capacity, "2024-%02u-%02u %02u:%02u:%02u", 1 + part % 12,
                        1 + number % 28, number % 24, part % 60, number % 60);
    if (type_has(type, "date"))
        return snprintf(to, capacity, "2024-%02u-%02u", 1 + part % 12, 1 + number % 28);
    if (type_has(type, "numeric") || type_has(type, "decimal") || type_has(type, "real")
        || type_has(type, "double") || type_has(type, "float"))
        return snprintf(to, capacity, "%u.%02u", number, part);
    if (type_has(type, "bytea"))
        return snprintf(to, capacity, "\\x%04x", number);
    if (type_has(type, "uuid"))
        return snprintf(to, capacity, "%08x-0000-4000-8000-%012x", number, part);
    return snprintf(to, capacity, "%u", number);
}

/* Writes an odd value where one may stand: -1 for null. */
static int draw_odd(char *to, size_t capacity, uint64_t *state, const char *type)
{
    bool nullable = !type_has(type, "not null") && !type_has(type, "primary key");
    switch (mockdb_random(state, type == NULL ? 6 : 2)) {
    case 0:
        return nullable ? -1 : draw_typed(to, capacity, state, type);
    case 1:
        return snprintf(to, capacity, "%s", type == NULL ? "0" : "");
    case 2:
        return snprintf(to, capacity, "-%u", small(state));
    case 3:
        return snprintf(to, capacity, "%u.25", small(state));
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
    bool may_be_empty = type == NULL || type_has(type, "char") || type_has(type, "text");
    bool odd = mockdb_seed() % 4 == 3 && may_be_empty && mockdb_random(state, 8) == 0;
    int length = odd ? draw_odd(text, sizeof text, state, type)
                     : draw_typed(text, sizeof text, state, type);
    value->null = length < 0;
    value->length = length < 0 ? 0 : length;
    value->text = mockdb_copy(result, text, (size_t)value->length);
}

/* Draws a number of rows: mostly one. */
static int draw_rows(uint64_t *state)
{
    uint64_t choice = mockdb_random(state, 16);
    if (mockdb_seed() % 4 < 2 || choice > 2)
        return 1;
    return choice == 0 ? 0 : 2 + (int)mockdb_random(state, 3);
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

static void fill_values(struct mockdb_result *result, uint64_t state)
{
    size_t count = (size_t)result->rows * (size_t)result->fields;
    result->values = calloc(count > 0 ? count : 1, sizeof *result->values);
    if (result->values == NULL)
        exit(MOCKDB_EXIT_NO_MEMORY);
    for (size_t i = 0; i < count; i++) {
        struct mockdb_column *column = &result->columns[i % (size_t)result->fields];
        uint64_t own = mockdb_hash(state, column->name, strlen(column->name));
        own = mockdb_hash(own, &i, sizeof i);
        draw(result, &result->values[i], &own, column->type);
    }
}

void mockdb_fill(struct mockdb_result *result, struct mockdb_text sql, bool empty)
{
    uint64_t seed = mockdb_seed();
    uint64_t state = mockdb_hash(result->key, &seed, sizeof seed);
    bool change = result->statement == MOCKDB_CHANGE;
    int rows = draw_rows(&state);
    if (strcmp(mockdb_verb(sql), "INSERT") == 0 || is_one_aggregate(sql))
        rows = 1;
    rows = empty ? 0 : rows;
    fill_columns(result, sql);
    result->rows = result->fields > 0 ? rows : 0;
    fill_values(result, state);
    char text[64];
    int length = snprintf(text, sizeof text, "%d", rows);
    result->affected = mockdb_copy(result, text, (size_t)length);
    const char *filler = change && strcmp(mockdb_verb(sql), "INSERT") == 0 ? " 0" : "";
    length = snprintf(text, sizeof text, "%s%s %d", mockdb_verb(sql), filler, rows);
    result->tag = mockdb_copy(result, text, (size_t)length);
}
