// The SQL is a constant with a raw literal, and the parameters are strings of the function.
// api: libpq
// expect: moves
#include <string>
#include <libpq-fe.h>

static constexpr const char *update_region = R"(
    UPDATE region SET r_total = r_total + 1
    WHERE r_id = $1)";
static constexpr char insert_sale[] = "INSERT INTO sale VALUES ($1, $2, 1, 'x')";

int pay(PGconn *conn, int region, int item, int customer)
{
    const std::string region_text = std::to_string(region);
    const std::string item_text = std::to_string(item);
    const std::string customer_text = std::to_string(customer);
    const char *region_values[] = { region_text.c_str() };
    const char *values[] = { item_text.c_str(), customer_text.c_str() };
    PGresult *res;

    PQclear(PQexec(conn, "BEGIN"));
    res = PQexecParams(conn, update_region, 1, nullptr, region_values, nullptr, nullptr, 0);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);
    res = PQexecParams(conn, insert_sale, 2, nullptr, values, nullptr, nullptr, 0);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);
    PQclear(PQexec(conn, "COMMIT"));
    return 0;
fail:
    PQclear(res);
    PQclear(PQexec(conn, "ROLLBACK"));
    return -1;
}
