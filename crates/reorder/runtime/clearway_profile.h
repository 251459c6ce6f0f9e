/*
 * Measures the queries of a program that `clearway reorder instrument` has written.
 *
 * Compile clearway_profile.c (C99, POSIX threads) into the program. When the program exits, it
 * writes the file that the environment variable CLEARWAY_PROFILE names, with `%p` replaced by the
 * number of the process; without the variable, `clearway-profile.json`. A program that ends by a
 * signal or by _exit must call clearway_profile_write itself.
 *
 * All functions may be called by several threads at once.
 */

#ifndef CLEARWAY_PROFILE_H
#define CLEARWAY_PROFILE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An execution of a query that has begun. */
struct clearway_profile_timer {
    int id;
    uint64_t begun;
};

/*
 * Returns the number of a query, which CLEARWAY_QUERY takes; -1 if there are too many queries or
 * there is no memory, and then the query is not measured. The same query has the same number.
 * `ordinal` counts the equal texts of a function from 0.
 */
int clearway_profile_register(const char *function, const char *sql, unsigned ordinal);

/*
 * Writes what was measured so far. Takes the path as it is, and NULL for the one that is written
 * at exit. Returns 0, or -1 with errno.
 */
int clearway_profile_write(const char *path);

/* What CLEARWAY_QUERY calls. */
struct clearway_profile_timer clearway_profile_begin(int id);
void clearway_profile_end(const struct clearway_profile_timer *timer);

#ifdef __cplusplus
}
#endif

/*
 * The value of the call, which may be void; the time is measured also if the call throws. The value
 * is a copy if the call returns a reference.
 */
#define CLEARWAY_QUERY(id, ...)                                                              \
    __extension__({                                                                          \
        __attribute__((cleanup(clearway_profile_end)))                                       \
        const struct clearway_profile_timer clearway_profile_timer_ =                        \
            clearway_profile_begin(id);                                                      \
        __VA_ARGS__;                                                                         \
    })

#endif
