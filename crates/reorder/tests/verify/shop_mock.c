/*
 * The interface of the golden cases (shop.h) over the recording core.
 *
 * The types of the values behind an SQL text are not known. A value of 64 bits is a pointer to a
 * text if it is one of an address above 4 GiB, which holds on x86-64 with position-independent
 * programs; all others are integers of 32 bits.
 */
#include "mock_core.h"
#include "shop.h"
#include "shop_open.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMETERS = 16 };

struct db {
    struct mockdb_session session;
    long changed;
};

struct db *shop_open(void *connection)
{
    struct db *db = calloc(1, sizeof *db);
    (void)connection;
    if (db == NULL)
        exit(MOCKDB_EXIT_NO_MEMORY);
    db->session.number = 100;
    return db;
}

static int count_parameters(const char *sql)
{
    struct mockdb_text text = {sql, strlen(sql)};
    int count = mockdb_count_sign(text, '?');
    for (const char *at = strchr(sql, '$'); at != NULL; at = strchr(at + 1, '$'))
        count = atoi(at + 1) > count ? atoi(at + 1) : count;
    return count < PARAMETERS ? count : PARAMETERS;
}

static struct mockdb_result *run(struct db *db, const char *sql, va_list *values)
{
    static char numbers[PARAMETERS][32];
    struct mockdb_parameter parameters[PARAMETERS];
    struct mockdb_text text = {sql, strlen(sql)};
    int count = values != NULL ? count_parameters(sql) : 0;
    for (int i = 0; i < count; i++) {
        long long value = va_arg(*values, long long);
        bool pointer = value > 0xffffffffLL;
        if (!pointer)
            snprintf(numbers[i], sizeof numbers[i], "%d", (int)value);
        parameters[i].bytes = pointer ? (const char *)(uintptr_t)value : numbers[i];
        parameters[i].length = strlen(parameters[i].bytes);
        parameters[i].binary = false;
    }
    struct mockdb_result *answer = mockdb_run(&db->session, "shop", text, count, parameters);
    db->changed = answer->sqlstate == NULL ? (long)answer->changed : -1;
    return answer;
}

static int end(struct mockdb_result *answer)
{
    int failed = answer->sqlstate != NULL;
    mockdb_end(answer);
    return failed;
}

void db_begin(struct db *db)
{
    end(run(db, "BEGIN", NULL));
}

void db_commit(struct db *db)
{
    end(run(db, "COMMIT", NULL));
}

void db_rollback(struct db *db)
{
    end(run(db, "ROLLBACK", NULL));
}

int db_run(struct db *db, const char *sql, ...)
{
    va_list values;
    va_start(values, sql);
    struct mockdb_result *answer = run(db, sql, &values);
    va_end(values);
    return end(answer);
}

long db_number(struct db *db, const char *sql, ...)
{
    va_list values;
    va_start(values, sql);
    struct mockdb_result *answer = run(db, sql, &values);
    va_end(values);
    long number = answer->rows > 0 ? strtol(answer->values[0].text, NULL, 10) : 0;
    end(answer);
    return number;
}

int db_text(struct db *db, char *text, const char *sql, ...)
{
    va_list values;
    va_start(values, sql);
    struct mockdb_result *answer = run(db, sql, &values);
    va_end(values);
    if (answer->sqlstate == NULL)
        snprintf(text, 32, "%s", answer->rows > 0 ? answer->values[0].text : "");
    return end(answer);
}

int db_format(struct db *db, const char *format, ...)
{
    char sql[1024];
    va_list values;
    va_start(values, format);
    vsnprintf(sql, sizeof sql, format, values);
    va_end(values);
    return end(run(db, sql, NULL));
}

long db_changed(struct db *db)
{
    return db->changed;
}

void unknown(void)
{
}
