// The text is appended to the empty string, to a text, and by characters.
// api: libpq
// expect: moves
#include <string>

#include <libpq-fe.h>

void pay(PGconn *conn, long amount, int customer)
{
    PQclear(PQexec(conn, "BEGIN"));
    std::string add;
    std::string visit = "UPDATE customer SET c_visits = 1";
    visit += " WHERE c_id = " + std::to_string(customer);
    PQclear(PQexec(conn, visit.c_str()));
    add += "UPDATE region SET r_total = r_total + ";
    add.append(std::to_string(-amount)).append(" WHERE r_id");
    add += '=';
    add += std::to_string(amount > 0 ? 1 : 2);
    PQclear(PQexec(conn, add.c_str()));
    PQclear(PQexec(conn, "COMMIT"));
}
