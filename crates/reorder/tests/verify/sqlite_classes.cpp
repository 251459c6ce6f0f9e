// A transfer over SQLite in C++: the text is a std::string.
#include <string>

#include <sqlite3.h>

int rename_account(sqlite3 *db, const std::string &account)
{
    const std::string update = "UPDATE bank SET b_total = b_total + 1 WHERE b_id = 1";
    std::string name = "UPDATE account SET a_name = 'x' WHERE a_id = ";
    name += account;
    if (sqlite3_exec(db, "BEGIN", nullptr, nullptr, nullptr) != SQLITE_OK)
        return -1;
    if (sqlite3_exec(db, update.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
        sqlite3_exec(db, "ROLLBACK", nullptr, nullptr, nullptr);
        return -2;
    }
    if (sqlite3_exec(db, name.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
        sqlite3_exec(db, "ROLLBACK", nullptr, nullptr, nullptr);
        return -3;
    }
    return sqlite3_exec(db, "COMMIT", nullptr, nullptr, nullptr) == SQLITE_OK ? 0 : -4;
}
