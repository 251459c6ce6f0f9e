// Größe: the text before the statements has letters of several bytes.
// expect: moves
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db); /* ä */
    db_run(db, "UPDATE customer SET c_name = 'Zoë'");
    db_run(db, "UPDATE region SET r_name = 'Köln ☃'"); /* ß */
    db_commit(db);
}
