// Different: every output.
#include <string>

#include <libpq-fe.h>

namespace shop {

struct Item {
    int number;
    std::string name;
    const char *label;
};

enum class Kind { Small, Large };

static bool rename(PGconn *connection, const std::string &name, Item &item, int *total, Kind kind)
{
    const char *values[] = {name.c_str()};
    PGresult *result = PQexecParams(connection, "UPDATE item SET name = $1", 1, nullptr, values,
                                    nullptr, nullptr, 0);
    bool done = PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
    item.name += name + item.label + "!";
    *total = item.number - (kind == Kind::Large ? 10 : 20);
    return !done;
}

} // namespace shop
