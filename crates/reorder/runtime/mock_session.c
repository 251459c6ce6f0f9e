/*
 * The state of a connection: which statements begin, end and undo a transaction, what the database
 * refuses, and what a failure leaves behind.
 */
#include "mock_core.h"

#include <string.h>

static unsigned transactions;

unsigned mockdb_transactions(void)
{
    return transactions;
}

const struct mockdb_failure *mockdb_failure_of(const char *code)
{
    const struct mockdb_failure *at = mockdb_api.failures;
    while (at->code != NULL && strcmp(at->code, code) != 0)
        at++;
    return at;
}

/* Returns the code with which PostgreSQL refuses the statement in this state, or NULL. */
static const char *refused_by_postgresql(const struct mockdb_session *session,
                                         enum mockdb_statement statement)
{
    if (statement == MOCKDB_ROLLBACK_TO && session->savepoints == 0)
        return "3B001";
    if (session->state == MOCKDB_FAILED && statement != MOCKDB_COMMIT
        && statement != MOCKDB_ROLLBACK && statement != MOCKDB_ROLLBACK_TO)
        return "25P02";
    return NULL;
}

const char *mockdb_refused(const struct mockdb_session *session, enum mockdb_statement statement)
{
    bool active = session->state == MOCKDB_ACTIVE;
    bool ends = statement == MOCKDB_COMMIT || statement == MOCKDB_ROLLBACK;
    bool names = statement == MOCKDB_ROLLBACK_TO || statement == MOCKDB_RELEASE;
    switch (mockdb_api.server) {
    case MOCKDB_POSTGRESQL:
        return refused_by_postgresql(session, statement);
    case MOCKDB_MYSQL:
        return names && session->savepoints == 0 ? "42000" : NULL;
    case MOCKDB_SQLITE:
        if ((statement == MOCKDB_BEGIN && active) || (ends && !active)
            || (names && session->savepoints == 0))
            return "SQLITE_ERROR";
        return NULL;
    }
    return NULL;
}

static void begin_transaction(struct mockdb_session *session)
{
    session->state = MOCKDB_ACTIVE;
    session->transactions++;
    transactions++;
}

static void end_transaction(struct mockdb_session *session)
{
    session->state = MOCKDB_IDLE;
    session->savepoints = 0;
    session->savepoint_began = false;
}

void mockdb_leave(struct mockdb_session *session, enum mockdb_effect effect,
                  enum mockdb_statement statement)
{
    if (effect == MOCKDB_LOSES)
        session->state = MOCKDB_LOST;
    else if (effect == MOCKDB_ROLLS_BACK)
        end_transaction(session);
    else if (statement == MOCKDB_COMMIT && mockdb_api.server != MOCKDB_SQLITE)
        end_transaction(session);
    else if (effect == MOCKDB_FAILS_TRANSACTION && session->state == MOCKDB_ACTIVE)
        session->state = MOCKDB_FAILED;
}

static void savepoint(struct mockdb_session *session)
{
    if (session->state == MOCKDB_IDLE && mockdb_api.server == MOCKDB_SQLITE) {
        begin_transaction(session);
        session->savepoint_began = true;
    }
    session->savepoints += session->state == MOCKDB_ACTIVE;
}

/* The outermost savepoint of SQLite is a transaction if it began one. */
static void release(struct mockdb_session *session)
{
    session->savepoints -= session->savepoints > 0;
    if (session->savepoint_began && session->savepoints == 0)
        end_transaction(session);
}

/* MySQL: `SET autocommit`, and statements that change tables, which commit. */
static void other_of_mysql(struct mockdb_session *session, struct mockdb_result *result,
                           struct mockdb_text sql)
{
    int on = mockdb_autocommit_of(sql);
    if (on == 0)
        session->manual = true;
    if (on == 1) {
        if (session->manual && session->state == MOCKDB_ACTIVE) {
            end_transaction(session);
            result->statement = MOCKDB_COMMIT;
        }
        session->manual = false;
    }
    if (mockdb_commits_by_itself(sql))
        end_transaction(session);
}

const char *mockdb_advance(struct mockdb_session *session, struct mockdb_result *result,
                           struct mockdb_text sql)
{
    bool failed = session->state == MOCKDB_FAILED;
    switch (result->statement) {
    case MOCKDB_BEGIN:
        begin_transaction(session);
        break;
    case MOCKDB_COMMIT:
        end_transaction(session);
        return failed ? "ROLLBACK" : mockdb_verb(sql); /* as PostgreSQL does */
    case MOCKDB_ROLLBACK:
        end_transaction(session);
        break;
    case MOCKDB_SAVEPOINT:
        savepoint(session);
        break;
    case MOCKDB_ROLLBACK_TO:
        session->state = MOCKDB_ACTIVE;
        break;
    case MOCKDB_RELEASE:
        release(session);
        break;
    case MOCKDB_ROWS:
    case MOCKDB_CHANGE:
        if (session->manual && session->state == MOCKDB_IDLE)
            begin_transaction(session);
        break;
    default:
        if (mockdb_api.server == MOCKDB_MYSQL)
            other_of_mysql(session, result, sql);
        break;
    }
    return mockdb_verb(sql);
}
