/* What the variants of the payment transaction share. */
#include <stdio.h>
#include <stdlib.h>

#include <libpq-fe.h>

#define ADD_TO_WAREHOUSE "UPDATE warehouse SET w_ytd = w_ytd + $1 WHERE w_id = $2"
#define NAME_OF_WAREHOUSE "SELECT w_name FROM warehouse WHERE w_id = $1"
#define TAKE_FROM_CUSTOMER "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = $2"
#define BALANCE_OF_CUSTOMER "SELECT c_balance FROM customer WHERE c_id = $1"

struct payment {
    int warehouse;
    int customer;
    char amount[12];
    char name[24];
    int balance;
};

static PGresult *run(PGconn *conn, const char *sql, const char *first, const char *second)
{
    const char *values[] = {first, second};
    return PQexecParams(conn, sql, second != NULL ? 2 : 1, NULL, values, NULL, NULL, 0);
}

static int done(const PGresult *result)
{
    return PQresultStatus(result) == PGRES_COMMAND_OK;
}

static int found(const PGresult *result)
{
    return PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 1;
}

static int give_up(PGconn *conn, PGresult *result, int status)
{
    PQclear(result);
    PQclear(PQexec(conn, "ROLLBACK"));
    return status;
}
