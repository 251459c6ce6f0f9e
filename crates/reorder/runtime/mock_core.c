/*
 * The life of a query: its key, the failure that is made for it, the state of the transaction, and
 * its line in the log. Also what the program did wrong with the answers.
 *
 * The key of a query is a hash of its text, its parameters' values and the number of times that the
 * same query ran before.
 */
#include "mock_core.h"

#include <inttypes.h>
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

enum { MAX_QUERIES = 10000 };

struct count {
    uint64_t hash;
    unsigned times;
};

struct loan {
    struct loan *next;
    void *memory;
    size_t size;
    bool ended;
};

static struct mockdb_result *results;
static struct loan *loans;

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

static struct mockdb_result *new_result(void)
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
    struct mockdb_result *result = new_result();
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

static uint64_t key_of(const char *kind, struct mockdb_text sql, int count,
                       const struct mockdb_parameter *parameters)
{
    uint64_t hash = mockdb_hash(UINT64_C(0xcbf29ce484222325), kind, strlen(kind));
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

/* Returns the SQLSTATE with which the server refuses the statement in this state, or NULL. */
static const char *refused(const struct mockdb_session *session, enum mockdb_statement statement)
{
    if (statement == MOCKDB_ROLLBACK_TO && session->savepoints == 0)
        return "3B001";
    if (session->state == MOCKDB_FAILED && statement != MOCKDB_COMMIT
        && statement != MOCKDB_ROLLBACK && statement != MOCKDB_ROLLBACK_TO)
        return "25P02";
    return NULL;
}

static void fail(struct mockdb_session *session, struct mockdb_result *result, const char *code,
                 enum mockdb_statement statement)
{
    char text[96];
    bool lost = strcmp(code, "LOST") == 0;
    if (lost)
        snprintf(text, sizeof text, "server closed the connection unexpectedly\n");
    else
        snprintf(text, sizeof text, "ERROR:  the query failed with SQLSTATE %.8s\n", code);
    result->sqlstate = lost ? "" : code;
    result->message = mockdb_copy(result, text, strlen(text));
    if (lost)
        session->state = MOCKDB_LOST;
    else if (statement == MOCKDB_COMMIT)
        session->state = MOCKDB_IDLE;
    else if (session->state == MOCKDB_ACTIVE && session->failure_aborts)
        session->state = MOCKDB_FAILED;
}

/* Changes the state of the connection as a statement does that succeeds. */
static void advance(struct mockdb_session *session, struct mockdb_result *result,
                    struct mockdb_text sql)
{
    bool failed = session->state == MOCKDB_FAILED;
    const char *tag = mockdb_verb(sql);
    switch (result->statement) {
    case MOCKDB_BEGIN:
        session->state = MOCKDB_ACTIVE;
        break;
    case MOCKDB_COMMIT:
        tag = failed ? "ROLLBACK" : tag; /* as PostgreSQL does */
        session->state = MOCKDB_IDLE;
        session->savepoints = 0;
        break;
    case MOCKDB_ROLLBACK:
        session->state = MOCKDB_IDLE;
        session->savepoints = 0;
        break;
    case MOCKDB_SAVEPOINT:
        session->savepoints += session->state == MOCKDB_ACTIVE;
        break;
    case MOCKDB_ROLLBACK_TO:
        session->state = MOCKDB_ACTIVE;
        break;
    default:
        break;
    }
    result->tag = mockdb_copy(result, tag, strlen(tag));
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
    fputs("]}\n", log);
    fflush(log);
}

struct mockdb_result *mockdb_run(struct mockdb_session *session, const char *call,
                                 struct mockdb_text sql, int count,
                                 const struct mockdb_parameter *parameters)
{
    struct mockdb_result *result = new_result();
    struct entry entry = {call, "query", sql, count, parameters, false};
    result->statement = mockdb_classify(sql);
    if (session->state == MOCKDB_LOST) {
        result->sqlstate = "";
        result->message = mockdb_copy(result, "no connection to the server\n", 28);
        record(session, &entry, result);
        return result;
    }
    result->key = key_of(entry.kind, sql, count, parameters);
    const char *code = made_to_fail(result->key), *refusal = refused(session, result->statement);
    bool empty = code != NULL && strcmp(code, "EMPTY") == 0;
    entry.injected = code != NULL && refusal == NULL;
    if (refusal != NULL || (code != NULL && !empty))
        fail(session, result, refusal != NULL ? refusal : code, result->statement);
    else if (result->statement == MOCKDB_ROWS || result->statement == MOCKDB_CHANGE)
        mockdb_fill(result, sql, empty);
    else
        advance(session, result, sql);
    record(session, &entry, result);
    return result;
}

struct mockdb_result *mockdb_prepare(struct mockdb_session *session, const char *call,
                                     const char *name, const char *sql)
{
    struct mockdb_result *result = new_result();
    struct mockdb_text text = {sql, strlen(sql)};
    struct mockdb_parameter parameter = {name, strlen(name), false};
    struct entry entry = {call, "prepare", text, 1, &parameter, false};
    result->statement = MOCKDB_OTHER;
    result->key = key_of(entry.kind, text, 1, &parameter);
    const char *code = made_to_fail(result->key), *refusal = refused(session, MOCKDB_OTHER);
    if (session->state == MOCKDB_LOST)
        refusal = "LOST";
    entry.injected = code != NULL && refusal == NULL;
    if (refusal != NULL || code != NULL)
        fail(session, result, refusal != NULL ? refusal : code, MOCKDB_OTHER);
    else
        result->tag = mockdb_copy(result, "PREPARE", 7);
    record(session, &entry, result);
    return result;
}
