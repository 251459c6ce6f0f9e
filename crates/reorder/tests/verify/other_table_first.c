/* Equal: the customer and the warehouse change places. */
#include "payment.h"

int payment(PGconn *conn, struct payment *p)
{
    char warehouse[16], customer[16];
    PGresult *result;
    snprintf(warehouse, sizeof warehouse, "%d", p->warehouse);
    snprintf(customer, sizeof customer, "%d", p->customer);

    result = PQexec(conn, "BEGIN");
    if (!done(result))
        return give_up(conn, result, -1);
    PQclear(result);

    result = run(conn, TAKE_FROM_CUSTOMER, p->amount, customer);
    if (!done(result))
        return give_up(conn, result, -4);
    PQclear(result);

    result = run(conn, BALANCE_OF_CUSTOMER, customer, NULL);
    if (!found(result))
        return give_up(conn, result, -5);
    p->balance = atoi(PQgetvalue(result, 0, 0));
    PQclear(result);

    result = run(conn, ADD_TO_WAREHOUSE, p->amount, warehouse);
    if (!done(result))
        return give_up(conn, result, -2);
    PQclear(result);

    result = run(conn, NAME_OF_WAREHOUSE, warehouse, NULL);
    if (!found(result))
        return give_up(conn, result, -3);
    snprintf(p->name, sizeof p->name, "%s", PQgetvalue(result, 0, 0));
    PQclear(result);

    result = PQexec(conn, "COMMIT");
    if (!done(result))
        return give_up(conn, result, -6);
    PQclear(result);
    printf("paid %s\n", p->amount);
    return 0;
}
