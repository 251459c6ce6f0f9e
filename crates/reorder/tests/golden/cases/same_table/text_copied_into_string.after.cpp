// The string keeps the text that the buffer held when it was copied.
// expect: moves
#include <cstring>
#include <string>

extern "C" {
#include "shop.h"
}

void pay(struct db *db)
{
    char buffer[200];

    db_begin(db);
    strcpy(buffer, "UPDATE customer SET c_visits = 1 WHERE c_id = 2");
    std::string sql = buffer;
    db_run(db, sql.c_str());
    strcpy(buffer, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, buffer);
    db_commit(db);
}
