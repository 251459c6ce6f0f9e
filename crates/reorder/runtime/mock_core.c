/*
 * The life of a query: its key, the failure that is made for it, and its line in the log.
 *
 * The key of a query is a hash of its text, its parameters' values, the number of transactions that
 * its connection has begun, and the number of times that the same query ran since.
 */
#include "mock_core.h"
#include "mock_input.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_QUERIES = 10000, MAX_SITES = 4096 };

struct count {
    uint64_t hash;
    unsigned times;
};

uint64_t mockdb_seed(void)
{
    const char *text = getenv("MOCKDB_SEED");
    return text != NULL ? (uint64_t)strtoull(text, NULL, 10) : 0;
}

void mockdb_misuse(const char *what, uint64_t key)
{
    FILE *log = mockdb_log();
    if (log == NULL)
        return;
    fprintf(log, "{\"event\":\"misuse\",\"what\":");
    mockdb_log_text(log, what, strlen(what));
    fprintf(log, ",\"key\":\"%016" PRIx64 "\"}\n", key);
    fflush(log);
}

void mockdb_unsupported(const char *what)
{
    FILE *log = mockdb_log();
    if (log != NULL) {
        fprintf(log, "{\"event\":\"unsupported\",\"what\":");
        mockdb_log_text(log, what, strlen(what));
        fprintf(log, "}\n");
        fflush(log);
    }
    exit(MOCKDB_EXIT_UNSUPPORTED);
}

static unsigned occurrences(uint64_t hash)
{
    static struct count counts[MAX_QUERIES];
    static size_t length, total;
    size_t i = 0;
    if (total++ == MAX_QUERIES) {
        mockdb_misuse("more than 10000 queries", 0);
        exit(MOCKDB_EXIT_TOO_MANY);
    }
    while (i < length && counts[i].hash != hash)
        i++;
    if (i == length)
        counts[length++].hash = hash;
    return counts[i].times++;
}

static uint64_t key_of(const struct mockdb_session *session, const char *kind,
                       struct mockdb_text sql, int count,
                       const struct mockdb_parameter *parameters)
{
    uint64_t hash = mockdb_hash(UINT64_C(0xcbf29ce484222325), kind, strlen(kind));
    /* The first transaction has the keys of what stands before it. */
    unsigned begun = session->transactions > 1 ? session->transactions : 0;
    if (begun > 0)
        hash = mockdb_hash(hash, &begun, sizeof begun);
    hash = mockdb_hash(hash, sql.start, sql.length);
    for (int i = 0; i < count; i++) {
        char tag = parameters[i].bytes == NULL ? 0 : parameters[i].binary ? 2 : 1;
        hash = mockdb_hash(hash, &tag, 1);
        if (parameters[i].bytes != NULL)
            hash = mockdb_hash(hash, parameters[i].bytes, parameters[i].length);
    }
    unsigned times = occurrences(hash);
    return mockdb_hash(hash, &times, sizeof times);
}

/* Returns the code with which this query is made to fail, or NULL. */
static const char *made_to_fail(uint64_t key)
{
    const char *text = getenv("MOCKDB_FAIL");
    char *end = NULL;
    if (text == NULL || strtoull(text, &end, 16) != key || *end != ':')
        return NULL;
    return end + 1;
}

static void log_parameters(FILE *log, int count, const struct mockdb_parameter *parameters)
{
    for (int i = 0; i < count; i++) {
        if (i > 0)
            putc(',', log);
        if (parameters[i].bytes == NULL)
            fputs("null", log);
        else
            mockdb_log_text(log, parameters[i].bytes, parameters[i].length);
    }
}

static void log_first_row(FILE *log, const struct mockdb_result *result)
{
    int shown = result->rows > 0 && result->fields < 8 ? result->fields : 0;
    for (int i = 0; i < shown; i++) {
        const struct mockdb_value *value = &result->values[i];
        if (i > 0)
            putc(',', log);
        if (value->null)
            fputs("null", log);
        else
            mockdb_log_text(log, value->text, (size_t)value->length);
    }
}

struct entry {
    const char *call;
    const char *kind;
    struct mockdb_text sql;
    int count;
    const struct mockdb_parameter *parameters;
    bool injected;
};

static void record(const struct mockdb_session *session, const struct entry *entry,
                   const struct mockdb_result *result)
{
    static const char *const statements[] = {"empty",  "rows",     "change",    "begin",
                                             "commit", "rollback", "savepoint", "rollback_to",
                                             "release", "other"};
    static const char *const states[] = {"idle", "active", "failed", "lost"};
    FILE *log = mockdb_log();
    if (log == NULL)
        return;
    fprintf(log, "{\"event\":\"query\",\"connection\":%d,\"call\":\"%s\",\"kind\":\"%s\"",
            session->number, entry->call, entry->kind);
    fprintf(log, ",\"statement\":\"%s\",\"sql\":", statements[result->statement]);
    mockdb_log_text(log, entry->sql.start, entry->sql.length);
    fputs(",\"parameters\":[", log);
    log_parameters(log, entry->count, entry->parameters);
    fprintf(log, "],\"key\":\"%016" PRIx64 "\",\"failed\":", result->key);
    if (result->sqlstate == NULL)
        fputs("null", log);
    else
        mockdb_log_text(log, result->sqlstate, strlen(result->sqlstate));
    fprintf(log, ",\"injected\":%s,\"state\":\"%s\",\"rows\":%d,\"changed\":\"%s\",\"first\":[",
            entry->injected ? "true" : "false", states[session->state], result->rows,
            result->affected);
    log_first_row(log, result);
    fprintf(log, "],\"always\":%s}\n", result->always ? "true" : "false");
    fflush(log);
}

/* Makes the query fail with a code of the interface. */
static void fail(struct mockdb_session *session, struct mockdb_result *result, const char *code,
                 bool prepares)
{
    char text[128];
    const struct mockdb_failure *failure = mockdb_failure_of(code);
    bool lost = failure->effect == MOCKDB_LOSES;
    snprintf(text, sizeof text, failure->message, code);
    result->sqlstate = lost ? "" : code;
    result->number = failure->number;
    result->message = mockdb_copy(result, text, strlen(text));
    /* The preparation of a statement changes nothing that would have to be undone. */
    bool undone = failure->effect == MOCKDB_ROLLS_BACK && prepares;
    mockdb_leave(session, undone ? MOCKDB_FAILS_QUERY : failure->effect, result->statement);
}

static void succeed(struct mockdb_session *session, struct mockdb_result *result,
                    struct mockdb_text sql, bool empty)
{
    const char *tag = mockdb_advance(session, result, sql);
    if (result->statement == MOCKDB_ROWS || result->statement == MOCKDB_CHANGE)
        mockdb_fill(result, sql, empty);
    else
        result->tag = mockdb_copy(result, tag, strlen(tag));
}

struct mockdb_result *mockdb_run(struct mockdb_session *session, const char *call,
                                 struct mockdb_text sql, int count,
                                 const struct mockdb_parameter *parameters)
{
    struct mockdb_result *result = mockdb_new_result();
    struct entry entry = {call, "query", sql, count, parameters, false};
    result->statement = mockdb_classify(sql);
    if (session->state == MOCKDB_LOST) {
        fail(session, result, "LOST", false);
        record(session, &entry, result);
        return result;
    }
    result->key = key_of(session, entry.kind, sql, count, parameters);
    const char *code = made_to_fail(result->key);
    const char *refusal = mockdb_refused(session, result->statement);
    bool empty = code != NULL && strcmp(code, "EMPTY") == 0;
    entry.injected = code != NULL && refusal == NULL;
    if (refusal != NULL || (code != NULL && !empty))
        fail(session, result, refusal != NULL ? refusal : code, false);
    else
        succeed(session, result, sql, empty);
    record(session, &entry, result);
    return result;
}

struct mockdb_result *mockdb_prepare(struct mockdb_session *session, const char *call,
                                     const char *name, const char *sql)
{
    struct mockdb_result *result = mockdb_new_result();
    struct mockdb_text text = {sql, strlen(sql)};
    struct mockdb_parameter parameter = {name, strlen(name), false};
    struct entry entry = {call, "prepare", text, 1, &parameter, false};
    result->statement = MOCKDB_OTHER;
    result->key = key_of(session, entry.kind, text, 1, &parameter);
    const char *code = made_to_fail(result->key);
    const char *refusal = mockdb_refused(session, MOCKDB_OTHER);
    if (session->state == MOCKDB_LOST)
        refusal = "LOST";
    entry.injected = code != NULL && refusal == NULL;
    if (refusal != NULL || code != NULL)
        fail(session, result, refusal != NULL ? refusal : code, true);
    else
        result->tag = mockdb_copy(result, "PREPARE", 7);
    record(session, &entry, result);
    return result;
}

void mockdb_site(unsigned number)
{
    static bool seen[MAX_SITES];
    FILE *log = mockdb_log();
    if (log == NULL || number >= MAX_SITES || seen[number])
        return;
    seen[number] = true;
    fprintf(log, "{\"event\":\"site\",\"number\":%u}\n", number);
    fflush(log);
}
