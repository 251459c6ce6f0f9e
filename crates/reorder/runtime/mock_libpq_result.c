/* A mock of libpq: the functions that look at results. */
#include "mock_libpq.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The types of the columns, as PostgreSQL numbers them. */
enum { OID_BOOL = 16, OID_INT4 = 23, OID_TEXT = 25, OID_TIMESTAMP = 1114, OID_NUMERIC = 1700 };

/* It is never freed, so that a use after PQclear is recognised. */
struct pg_result {
    struct mockdb_result *answer;
    char state[6]; /* the SQLSTATE */
};

PGresult *mock_result_of(struct mockdb_result *answer)
{
    PGresult *result = calloc(1, sizeof *result);
    if (result == NULL)
        exit(MOCKDB_EXIT_NO_MEMORY);
    result->answer = answer;
    if (answer->sqlstate != NULL)
        snprintf(result->state, sizeof result->state, "%s", answer->sqlstate);
    return result;
}

/* Returns the answer, or NULL if it must not be used. */
static struct mockdb_result *answer_of(const PGresult *res, const char *call)
{
    return res != NULL && mockdb_usable(res->answer, call) ? res->answer : NULL;
}

/* Returns the value, or NULL if there is none. */
static struct mockdb_value *value_at(const PGresult *res, int row, int field, const char *call)
{
    struct mockdb_result *answer = answer_of(res, call);
    if (answer == NULL)
        return NULL;
    if (row < 0 || row >= answer->rows || field < 0 || field >= answer->fields) {
        char text[96];
        snprintf(text, sizeof text, "%s of a row or column that the result lacks", call);
        mockdb_misuse(text, answer->key);
        return NULL;
    }
    return &answer->values[row * answer->fields + field];
}

void PQclear(PGresult *res)
{
    if (res != NULL && mockdb_end(res->answer))
        memset(res->state, 0, sizeof res->state);
}

PGresult *PQmakeEmptyPGresult(PGconn *conn, ExecStatusType status)
{
    bool failed = status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE;
    (void)conn;
    struct mockdb_result *answer = mockdb_error(failed ? "" : NULL, "");
    answer->statement = status == PGRES_EMPTY_QUERY ? MOCKDB_EMPTY : MOCKDB_OTHER;
    return mock_result_of(answer);
}

ExecStatusType PQresultStatus(const PGresult *res)
{
    struct mockdb_result *answer = answer_of(res, "PQresultStatus");
    if (answer == NULL || answer->sqlstate != NULL)
        return PGRES_FATAL_ERROR;
    if (answer->statement == MOCKDB_EMPTY)
        return PGRES_EMPTY_QUERY;
    return answer->fields > 0 ? PGRES_TUPLES_OK : PGRES_COMMAND_OK;
}

char *PQresStatus(ExecStatusType status)
{
    static char unknown[] = "invalid ExecStatusType code";
    static char names[][24] = {"PGRES_EMPTY_QUERY",    "PGRES_COMMAND_OK", "PGRES_TUPLES_OK",
                               "PGRES_COPY_OUT",       "PGRES_COPY_IN",    "PGRES_BAD_RESPONSE",
                               "PGRES_NONFATAL_ERROR", "PGRES_FATAL_ERROR"};
    size_t index = (size_t)status;
    return index < sizeof names / sizeof names[0] ? names[index] : unknown;
}

int PQntuples(const PGresult *res)
{
    struct mockdb_result *answer = answer_of(res, "PQntuples");
    return answer != NULL ? answer->rows : 0;
}

int PQnfields(const PGresult *res)
{
    struct mockdb_result *answer = answer_of(res, "PQnfields");
    return answer != NULL ? answer->fields : 0;
}

int PQbinaryTuples(const PGresult *res)
{
    (void)answer_of(res, "PQbinaryTuples");
    return 0;
}

char *PQfname(const PGresult *res, int field_num)
{
    struct mockdb_result *answer = answer_of(res, "PQfname");
    bool known = answer != NULL && field_num >= 0 && field_num < answer->fields;
    return known ? answer->columns[field_num].name : NULL;
}

/* Compares a column with a name as libpq does: in lower case, unless the name is quoted. */
static bool names_column(const char *name, const char *column)
{
    bool quoted = *name == '"';
    for (name += quoted; *name != '\0' && *name != '"'; name++, column++) {
        int character = (unsigned char)*name;
        if ((unsigned char)*column != tolower(character))
            return false;
    }
    return *column == '\0';
}

int PQfnumber(const PGresult *res, const char *field_name)
{
    struct mockdb_result *answer = answer_of(res, "PQfnumber");
    if (answer == NULL || field_name == NULL || *field_name == '\0')
        return -1;
    for (int i = 0; i < answer->fields; i++) {
        if (names_column(field_name, answer->columns[i].name))
            return i;
    }
    if (!answer->names_unknown)
        return -1;
    return (int)(mockdb_hash(0, field_name, strlen(field_name)) % (uint64_t)answer->fields);
}

Oid PQftype(const PGresult *res, int field_num)
{
    struct mockdb_result *answer = answer_of(res, "PQftype");
    bool known = answer != NULL && field_num >= 0 && field_num < answer->fields;
    const char *type = known ? answer->columns[field_num].type : NULL;
    if (type == NULL)
        return known ? OID_TEXT : 0;
    if (strstr(type, "bool") != NULL)
        return OID_BOOL;
    if (strstr(type, "int") != NULL || strstr(type, "serial") != NULL)
        return OID_INT4;
    if (strstr(type, "timestamp") != NULL)
        return OID_TIMESTAMP;
    return strstr(type, "num") != NULL || strstr(type, "dec") != NULL ? OID_NUMERIC : OID_TEXT;
}

int PQfformat(const PGresult *res, int field_num)
{
    (void)answer_of(res, "PQfformat");
    (void)field_num;
    return 0;
}

int PQfsize(const PGresult *res, int field_num)
{
    (void)answer_of(res, "PQfsize");
    (void)field_num;
    return -1;
}

int PQfmod(const PGresult *res, int field_num)
{
    (void)answer_of(res, "PQfmod");
    (void)field_num;
    return -1;
}

char *PQgetvalue(const PGresult *res, int tup_num, int field_num)
{
    struct mockdb_value *value = value_at(res, tup_num, field_num, "PQgetvalue");
    return value != NULL ? value->text : NULL;
}

int PQgetlength(const PGresult *res, int tup_num, int field_num)
{
    struct mockdb_value *value = value_at(res, tup_num, field_num, "PQgetlength");
    return value != NULL ? value->length : 0;
}

int PQgetisnull(const PGresult *res, int tup_num, int field_num)
{
    struct mockdb_value *value = value_at(res, tup_num, field_num, "PQgetisnull");
    return value == NULL || value->null;
}

char *PQcmdStatus(PGresult *res)
{
    struct mockdb_result *answer = answer_of(res, "PQcmdStatus");
    return answer != NULL ? answer->tag : NULL;
}

char *PQcmdTuples(PGresult *res)
{
    static char none[] = "";
    struct mockdb_result *answer = answer_of(res, "PQcmdTuples");
    return answer != NULL ? answer->affected : none;
}

Oid PQoidValue(const PGresult *res)
{
    (void)answer_of(res, "PQoidValue");
    return InvalidOid;
}

char *PQresultErrorMessage(const PGresult *res)
{
    static char none[] = "";
    struct mockdb_result *answer = answer_of(res, "PQresultErrorMessage");
    return answer != NULL ? answer->message : none;
}

char *PQresultErrorField(const PGresult *res, int fieldcode)
{
    static char severity[] = "ERROR";
    struct mockdb_result *answer = answer_of(res, "PQresultErrorField");
    if (answer == NULL || answer->sqlstate == NULL || *answer->sqlstate == '\0')
        return NULL;
    switch (fieldcode) {
    case PG_DIAG_SQLSTATE:
        return ((PGresult *)(uintptr_t)res)->state;
    case PG_DIAG_SEVERITY:
    case PG_DIAG_SEVERITY_NONLOCALIZED:
        return severity;
    case PG_DIAG_MESSAGE_PRIMARY:
        return answer->message;
    default:
        return NULL;
    }
}
