/*
 * The recording core of the mock database interfaces: what all mocks share.
 *
 * A mock talks to no server. It records each query as one line of JSON, and answers it with rows
 * that are a function of the seed, the text of the query, the values of its parameters and the
 * number of times that the same query ran before. The place of the query among other queries does
 * not matter, so a program and its reordered version see the same rows.
 *
 * The environment says what to do:
 *
 *   MOCKDB_LOG       the file to which the lines are appended
 *   MOCKDB_SEED      the seed, a decimal number
 *   MOCKDB_FAIL      KEY:CODE, the key of the query that fails (as in the log) and its SQLSTATE;
 *                    LOST ends the connection instead, EMPTY returns no row and changes none
 *   MOCKDB_COLUMNS   a file with a line "table column type" for each column of the schema
 *   MOCKDB_KEYS      a file with a line "table column column ..." for each key
 *   MOCKDB_PREPARED  a file with a line "name<TAB>sql" for each statement prepared beforehand
 *
 * A mock may be used by one thread at a time.
 */
#ifndef MOCK_CORE_H
#define MOCK_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Exit codes of the process by which the mock says that the run has no meaning. */
enum { MOCKDB_EXIT_UNSUPPORTED = 96, MOCKDB_EXIT_TOO_MANY = 97, MOCKDB_EXIT_NO_MEMORY = 98 };

/* What a statement is, as far as the state of the transaction and the rows depend on it. */
enum mockdb_statement {
    MOCKDB_EMPTY,
    MOCKDB_ROWS,
    MOCKDB_CHANGE,
    MOCKDB_BEGIN,
    MOCKDB_COMMIT,
    MOCKDB_ROLLBACK,
    MOCKDB_SAVEPOINT,
    MOCKDB_ROLLBACK_TO,
    MOCKDB_RELEASE,
    MOCKDB_OTHER
};

/* The state of a connection. */
enum mockdb_state { MOCKDB_IDLE, MOCKDB_ACTIVE, MOCKDB_FAILED, MOCKDB_LOST };

/* A connection. */
struct mockdb_session {
    int number;
    enum mockdb_state state;
    unsigned transactions; /* the number of those that it has begun */
    int savepoints;
    bool savepoint_began; /* SQLite: the outermost savepoint is the transaction */
    bool manual;          /* MySQL: autocommit is off */
};

/* The databases, whose rules for transactions differ. */
enum mockdb_server { MOCKDB_POSTGRESQL, MOCKDB_MYSQL, MOCKDB_SQLITE };

/* What a failure leaves behind. */
enum mockdb_effect {
    MOCKDB_FAILS_QUERY,
    MOCKDB_FAILS_TRANSACTION, /* all further queries until the end fail as well */
    MOCKDB_ROLLS_BACK,        /* the transaction is over */
    MOCKDB_LOSES              /* the connection is lost */
};

/* A way in which a query can fail. */
struct mockdb_failure {
    const char *code;
    int number;
    enum mockdb_effect effect;
    const char *message; /* a format for the code */
};

/* What the core must know of the interface. Each mock defines `mockdb_api`. */
struct mockdb_api {
    enum mockdb_server server;
    const struct mockdb_failure *failures; /* the last one, without a code, is for all others */
};

extern const struct mockdb_api mockdb_api;

/* The value of a parameter. */
struct mockdb_parameter {
    const char *bytes; /* NULL for the null value */
    size_t length;
    bool binary;
};

/* Memory of a result; it holds 0xDD after the end of the result. */
struct mockdb_block {
    struct mockdb_block *next;
    size_t size;
    char bytes[];
};

/* A value of a result. */
struct mockdb_value {
    char *text;
    int length;
    bool null;
};

/* A column of a result. */
struct mockdb_column {
    char *name;
    const char *type; /* as in the schema; NULL if it is not known */
};

/* The answer to a query. The core never frees it, so that its later use is recognised. */
struct mockdb_result {
    struct mockdb_result *next;
    struct mockdb_block *blocks;
    uint64_t key;
    bool ended;
    enum mockdb_statement statement;
    const char *sqlstate; /* NULL if the query succeeded; "" for a lost connection */
    int number;           /* the number of the error, 0 if the query succeeded */
    char *message;        /* the error message, or "" */
    char *tag;            /* "UPDATE 1" */
    char *affected;       /* "1", or "" */
    long long changed;    /* the same as a number, or -1 */
    long long inserted;   /* the number of the inserted row, or 0 */
    bool always;          /* the statement cannot do without a row */
    int rows;
    int fields;
    bool names_unknown; /* the names of the columns cannot be told from the query */
    struct mockdb_column *columns;
    struct mockdb_value *values;
};

/* A statement of an SQL text, in which white space and comments were skipped. */
struct mockdb_text {
    const char *start;
    size_t length;
};

/* mock_core.c */

/* Runs one statement and records it. `call` is the name of the called function. */
struct mockdb_result *mockdb_run(struct mockdb_session *session, const char *call,
                                 struct mockdb_text sql, int count,
                                 const struct mockdb_parameter *parameters);
/* Prepares a statement, which may fail like a query. */
struct mockdb_result *mockdb_prepare(struct mockdb_session *session, const char *call,
                                     const char *name, const char *sql);
/* Records a use of the interface that its manual forbids; `key` is that of the query, or 0. */
void mockdb_misuse(const char *what, uint64_t key);
/* Ends the process, since the mock cannot do what the program asks for. */
void mockdb_unsupported(const char *what);

/* mock_memory.c */

/* Makes an answer to nothing yet. */
struct mockdb_result *mockdb_new_result(void);
/* Makes an answer that reports an error, which is not recorded as a query. */
struct mockdb_result *mockdb_error(const char *sqlstate, const char *message);
/* Ends a result: its memory becomes unusable. Returns false if it had ended before. */
bool mockdb_end(struct mockdb_result *result);
/* Returns true if the result may be used; otherwise it records the misuse. */
bool mockdb_usable(const struct mockdb_result *result, const char *call);
/* Allocates memory that the program must give back to mockdb_give_back. */
void *mockdb_lend(size_t size);
void mockdb_give_back(void *memory);
/* Returns the seed. */
uint64_t mockdb_seed(void);

/* mock_session.c */

/* Returns the failure with a code. */
const struct mockdb_failure *mockdb_failure_of(const char *code);
/* Returns the code with which the server refuses the statement in this state, or NULL. */
const char *mockdb_refused(const struct mockdb_session *session, enum mockdb_statement statement);
/* Changes the state of the connection as a statement does that fails. */
void mockdb_leave(struct mockdb_session *session, enum mockdb_effect effect,
                  enum mockdb_statement statement);
/* Returns the number of transactions that all connections have begun. */
unsigned mockdb_transactions(void);
/* Changes the state as a statement does that succeeds; returns what the server says it did. */
const char *mockdb_advance(struct mockdb_session *session, struct mockdb_result *result,
                           struct mockdb_text sql);

/* mock_clock.c */

/* Gives the generators of random numbers their first state. */
void mockdb_start_clock(void);

/* mock_log.c */

/* Returns the log, or NULL if there is none. It begins to watch for results that leak. */
FILE *mockdb_log(void);
/* Writes a text as a JSON string; bytes above 127 become the characters U+0080 to U+00FF. */
void mockdb_log_text(FILE *log, const char *bytes, size_t length);

/* mock_sql.c */

/* Takes the next statement off a text; returns false at its end. */
bool mockdb_next_statement(const char **rest, struct mockdb_text *statement);
/* Returns what a statement is. */
enum mockdb_statement mockdb_classify(struct mockdb_text sql);
/* Returns the first word of a statement in upper case, in a static buffer. */
const char *mockdb_verb(struct mockdb_text sql);
/* Finds the items of the select list or of RETURNING; returns their number, or -1 if the statement
 * returns rows whose columns cannot be told. */
int mockdb_items(struct mockdb_text sql, struct mockdb_text *items, int capacity);
/* Finds the name that an item of a select list gives its column. */
struct mockdb_text mockdb_item_name(struct mockdb_text item);
/* Returns true if the word occurs in the statement outside of strings, in any case. */
bool mockdb_mentions(struct mockdb_text sql, const char *word);
/* Returns the number of times that a sign occurs outside of strings. */
int mockdb_count_sign(struct mockdb_text sql, char sign);
/* Returns 0 or 1 if the statement sets autocommit to that, otherwise -1. */
int mockdb_autocommit_of(struct mockdb_text sql);
/* Returns true if MySQL commits before it runs the statement. */
bool mockdb_commits_by_itself(struct mockdb_text sql);
/* Returns true if the item is an aggregate. */
bool mockdb_is_aggregate(struct mockdb_text item);

/* mock_rows.c */

/* The least and the greatest number of rows of an answer. */
struct mockdb_limits {
    int least;
    int most; /* -1 if any number is possible */
};

/* Returns the number of rows that a statement can find or change. */
struct mockdb_limits mockdb_limits_of(struct mockdb_text sql, enum mockdb_statement statement);

/* mock_candidate.c */

/* Notes an input of the program. */
void mockdb_input_was_number(long long value);
void mockdb_input_was_text(const char *text, size_t length);
/* Draws a number or a text that the program is likely to treat in a way of its own; `inputs` says
 * that it may be an input. The text is NULL if there is none. */
long long mockdb_special_number(uint64_t *state, bool inputs);
const char *mockdb_special_text(uint64_t *state, bool inputs);

/* mock_value.c */

/* Fills in columns and rows of the answer to a statement. */
void mockdb_fill(struct mockdb_result *result, struct mockdb_text sql, bool empty);
/* Makes an answer that has the columns of a statement, and no rows. */
struct mockdb_result *mockdb_describe(struct mockdb_text sql);
/* Returns the number of columns of the answer to a statement. */
int mockdb_field_count(struct mockdb_text sql);
/* Allocates memory of a result. */
char *mockdb_allocate(struct mockdb_result *result, size_t size);
/* Copies a text into memory of a result, with a zero byte behind it. */
char *mockdb_copy(struct mockdb_result *result, const char *text, size_t length);
/* Mixes bytes into a hash value. */
uint64_t mockdb_hash(uint64_t hash, const void *bytes, size_t length);
/* Takes a number below `limit` off a random state. */
uint64_t mockdb_random(uint64_t *state, uint64_t limit);

#endif
