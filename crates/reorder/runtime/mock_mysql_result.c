/* A mock of the C interface of MySQL and MariaDB: the functions that look at results. */
#include "mock_mysql.h"

#include <stdlib.h>
#include <string.h>

/* A result, which the program knows as MYSQL_RES. It is never freed, so that a use after
 * mysql_free_result is recognised. */
struct mock_result {
    struct mockdb_result *answer;
    struct mock_connection *reader; /* not NULL while rows are still to be read */
    bool unbuffered;
    bool eof;
    int next;
    unsigned field;
    MYSQL_FIELD *fields;
    char **row;
    unsigned long *lengths;
    char *bytes; /* the row of an unbuffered result, which the next one overwrites */
    size_t size;
};

static enum enum_field_types type_of(const char *type)
{
    static const struct {
        const char *word;
        enum enum_field_types type;
    } types[] = {{"bigint", MYSQL_TYPE_LONGLONG},   {"tinyint", MYSQL_TYPE_TINY},
                 {"smallint", MYSQL_TYPE_SHORT},    {"int", MYSQL_TYPE_LONG},
                 {"decimal", MYSQL_TYPE_NEWDECIMAL}, {"numeric", MYSQL_TYPE_NEWDECIMAL},
                 {"double", MYSQL_TYPE_DOUBLE},     {"float", MYSQL_TYPE_FLOAT},
                 {"datetime", MYSQL_TYPE_DATETIME}, {"timestamp", MYSQL_TYPE_TIMESTAMP},
                 {"date", MYSQL_TYPE_DATE},         {"blob", MYSQL_TYPE_BLOB}};
    for (size_t i = 0; type != NULL && i < sizeof types / sizeof types[0]; i++) {
        if (strstr(type, types[i].word) != NULL)
            return types[i].type;
    }
    return MYSQL_TYPE_VAR_STRING;
}

MYSQL_FIELD *mock_fields_of(struct mockdb_result *answer)
{
    static char none[] = "";
    size_t count = (size_t)answer->fields;
    MYSQL_FIELD *fields = (void *)mockdb_allocate(answer, (count + 1) * sizeof *fields);
    memset(fields, 0, (count + 1) * sizeof *fields);
    for (size_t i = 0; i < count; i++) {
        fields[i].name = fields[i].org_name = answer->columns[i].name;
        fields[i].table = fields[i].org_table = fields[i].db = fields[i].catalog = none;
        fields[i].name_length = (unsigned)strlen(fields[i].name);
        fields[i].length = 255;
        fields[i].type = type_of(answer->columns[i].type);
        for (int row = 0; row < answer->rows; row++) {
            unsigned long length = (unsigned long)answer->values[(size_t)row * count + i].length;
            fields[i].max_length = length > fields[i].max_length ? length : fields[i].max_length;
        }
    }
    return fields;
}

static struct mock_result *make(struct mockdb_result *answer)
{
    struct mock_result *result = calloc(1, sizeof *result);
    size_t count = (size_t)answer->fields + 1;
    if (result == NULL)
        exit(MOCKDB_EXIT_NO_MEMORY);
    result->answer = answer;
    result->fields = mock_fields_of(answer);
    result->row = (void *)mockdb_allocate(answer, count * sizeof *result->row);
    result->lengths = (void *)mockdb_allocate(answer, count * sizeof *result->lengths);
    return result;
}

MYSQL_RES *mock_metadata_of(const struct mockdb_result *answer)
{
    struct mockdb_result *copy = mockdb_new_result();
    copy->fields = answer->fields;
    copy->columns = answer->columns;
    return (void *)make(copy);
}

/* Returns the result, or NULL if it must not be used. */
static struct mock_result *result_of(MYSQL_RES *res, const char *call)
{
    struct mock_result *result = (void *)res;
    return result != NULL && mockdb_usable(result->answer, call) ? result : NULL;
}

static MYSQL_RES *take(MYSQL *mysql, const char *call, bool unbuffered)
{
    struct mock_connection *connection = mock_connection_of(mysql, call);
    if (connection == NULL || connection->pending == NULL)
        return NULL;
    struct mock_result *result = make(connection->pending);
    connection->pending = NULL;
    result->unbuffered = unbuffered;
    if (unbuffered) {
        connection->streams = true;
        result->reader = connection;
    } else {
        connection->affected = (my_ulonglong)result->answer->rows;
    }
    return (void *)result;
}

MYSQL_RES *STDCALL mysql_store_result(MYSQL *mysql)
{
    return take(mysql, "mysql_store_result", false);
}

MYSQL_RES *STDCALL mysql_use_result(MYSQL *mysql)
{
    return take(mysql, "mysql_use_result", true);
}

static void end_stream(struct mock_result *result)
{
    if (result->reader != NULL)
        result->reader->streams = false;
    result->reader = NULL;
}

static void spoil_row(struct mock_result *result)
{
    if (result->bytes != NULL)
        memset(result->bytes, 0xDD, result->size);
}

void STDCALL mysql_free_result(MYSQL_RES *res)
{
    struct mock_result *result = (void *)res;
    if (result == NULL)
        return;
    if (mockdb_end(result->answer))
        end_stream(result);
}

/* Copies a row of an unbuffered result to memory of its own. */
static void copy_row(struct mock_result *result, const struct mockdb_value *values)
{
    size_t size = 1;
    spoil_row(result);
    for (int i = 0; i < result->answer->fields; i++)
        size += (size_t)values[i].length + 1;
    char *at = result->bytes = mockdb_allocate(result->answer, size);
    result->size = size;
    for (int i = 0; i < result->answer->fields; i++) {
        memcpy(at, values[i].text, (size_t)values[i].length + 1);
        result->row[i] = values[i].null ? NULL : at;
        at += values[i].length + 1;
    }
}

MYSQL_ROW STDCALL mysql_fetch_row(MYSQL_RES *res)
{
    struct mock_result *result = result_of(res, "mysql_fetch_row");
    if (result == NULL)
        return NULL;
    if (result->next >= result->answer->rows) {
        result->eof = true;
        end_stream(result);
        return NULL;
    }
    int fields = result->answer->fields;
    const struct mockdb_value *values = &result->answer->values[result->next++ * fields];
    for (int i = 0; i < fields; i++) {
        result->row[i] = values[i].null ? NULL : values[i].text;
        result->lengths[i] = (unsigned long)values[i].length;
    }
    if (result->unbuffered)
        copy_row(result, values);
    return result->row;
}

unsigned long *STDCALL mysql_fetch_lengths(MYSQL_RES *res)
{
    struct mock_result *result = result_of(res, "mysql_fetch_lengths");
    return result != NULL && result->next > 0 ? result->lengths : NULL;
}

my_ulonglong STDCALL mysql_num_rows(MYSQL_RES *res)
{
    struct mock_result *result = result_of(res, "mysql_num_rows");
    if (result == NULL)
        return 0;
    return (my_ulonglong)(result->unbuffered ? result->next : result->answer->rows);
}

unsigned int STDCALL mysql_num_fields(MYSQL_RES *res)
{
    struct mock_result *result = result_of(res, "mysql_num_fields");
    return result != NULL ? (unsigned)result->answer->fields : 0;
}

my_bool STDCALL mysql_eof(MYSQL_RES *res)
{
    struct mock_result *result = result_of(res, "mysql_eof");
    return result == NULL || !result->unbuffered || result->eof;
}

void STDCALL mysql_data_seek(MYSQL_RES *res, my_ulonglong offset)
{
    struct mock_result *result = result_of(res, "mysql_data_seek");
    if (result == NULL)
        return;
    bool beyond = offset > (my_ulonglong)result->answer->rows;
    if (result->unbuffered || beyond)
        mockdb_misuse("mysql_data_seek to a row that the result lacks", result->answer->key);
    result->next = beyond ? result->answer->rows : (int)offset;
}

/* An offset of a row is its number and 1, as a pointer. */
MYSQL_ROW_OFFSET STDCALL mysql_row_tell(MYSQL_RES *res)
{
    struct mock_result *result = result_of(res, "mysql_row_tell");
    return result != NULL ? (void *)((uintptr_t)result->next + 1) : NULL;
}

MYSQL_ROW_OFFSET STDCALL mysql_row_seek(MYSQL_RES *res, MYSQL_ROW_OFFSET offset)
{
    struct mock_result *result = result_of(res, "mysql_row_seek");
    MYSQL_ROW_OFFSET before = mysql_row_tell(res);
    if (result != NULL && offset != NULL)
        result->next = (int)((uintptr_t)offset - 1);
    return before;
}

MYSQL_FIELD *STDCALL mysql_fetch_fields(MYSQL_RES *res)
{
    struct mock_result *result = result_of(res, "mysql_fetch_fields");
    return result != NULL ? result->fields : NULL;
}

MYSQL_FIELD *STDCALL mysql_fetch_field_direct(MYSQL_RES *res, unsigned int fieldnr)
{
    struct mock_result *result = result_of(res, "mysql_fetch_field_direct");
    bool known = result != NULL && fieldnr < (unsigned)result->answer->fields;
    return known ? &result->fields[fieldnr] : NULL;
}

MYSQL_FIELD *STDCALL mysql_fetch_field(MYSQL_RES *res)
{
    struct mock_result *result = result_of(res, "mysql_fetch_field");
    return result != NULL ? mysql_fetch_field_direct(res, result->field++) : NULL;
}

MYSQL_FIELD_OFFSET STDCALL mysql_field_seek(MYSQL_RES *res, MYSQL_FIELD_OFFSET offset)
{
    struct mock_result *result = result_of(res, "mysql_field_seek");
    MYSQL_FIELD_OFFSET before = result != NULL ? result->field : 0;
    if (result != NULL)
        result->field = offset;
    return before;
}

unsigned int STDCALL mysql_field_tell(MYSQL_RES *res)
{
    struct mock_result *result = result_of(res, "mysql_field_tell");
    return result != NULL ? result->field : 0;
}
