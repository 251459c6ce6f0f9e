/* The database interface of most cases; shop.toml is its model. The values of the parameters of
 * `sql` ($1 or ?) stand behind it. */
#ifndef SHOP_H
#define SHOP_H

#ifdef __cplusplus
extern "C" {
#endif

struct db;

void db_begin(struct db *db);
void db_commit(struct db *db);
void db_rollback(struct db *db);

/* Runs a query; returns 0, or another value if it fails. */
int db_run(struct db *db, const char *sql, ...);

/* Runs a query and returns the number in the first column of its first row. */
long db_number(struct db *db, const char *sql, ...);

/* Runs a query and stores the first column of its first row, a text of less than 32 bytes.
 * Returns 0, or another value if it fails. */
int db_text(struct db *db, char *text, const char *sql, ...);

/* Runs a query; `format` is a format as of printf. Returns 0, or another value if it fails. */
int db_format(struct db *db, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Runs a query and returns the number of its rows, or -1 if it fails. */
int db_rows(struct db *db, const char *sql, ...);

/* Returns the number of rows that the last query changed. */
long db_changed(struct db *db);

/* Runs a query and stores its rows, which rows_free frees. Returns 0, or another value if it
 * fails. */
struct rows;
int db_rows_of(struct db *db, struct rows **rows, const char *sql, ...);

/* Returns the number in a row and a column. */
long rows_number(const struct rows *rows, int row, int column);
void rows_free(struct rows *rows);

/* Has no model. */
void unknown(void);

#ifdef __cplusplus
}
#endif

#endif
