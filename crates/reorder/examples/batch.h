/* What the loaders have in common: creating tables, and inserting many rows at a time. Every
 * function ends the program with a message on stderr if it fails. */
#ifndef BATCH_H
#define BATCH_H

#include <stddef.h>

#include "client.h"

/* The rows of one table that were not sent yet, as one INSERT statement. */
struct batch {
    struct client *client;
    const char *table;      /* its name, with a list of columns if not all are given */
    char *sql;
    size_t length;
    size_t capacity;
    int rows;
};

/* Appends a row; the text is what stands in its parentheses. */
__attribute__((format(printf, 2, 3))) void row(struct batch *batch, const char *format, ...);

/* Sends the rest of the rows, and frees the batch. */
void batch_end(struct batch *batch);

/* Drops the tables of all examples, and runs the statements of a file. */
void create_tables(struct client *client, const char *path);

/* Runs a statement. */
void execute(struct client *client, const char *sql);

/* Commits, and renews the statistics of the tables. */
void finish(struct client *client, const char *const *tables, size_t count);

/* Returns the memory, or ends the program if it is null. */
void *check_memory(void *memory);

#endif
