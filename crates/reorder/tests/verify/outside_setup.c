/* Makes the argument of a function in outside.c. */
#include <stdlib.h>

#include <libpq-fe.h>

struct holder {
    PGconn *conn;
};

struct holder *make_holder(PGconn *conn)
{
    struct holder *holder = malloc(sizeof *holder);
    if (holder != NULL)
        holder->conn = conn;
    return holder;
}
