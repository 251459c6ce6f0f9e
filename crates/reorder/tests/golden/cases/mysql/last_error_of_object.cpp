// Each failure leaves its text in a member of the object.
// api: mysql
// function: Shop::pay
// expect: moves
#include <string>
#include <mysql.h>

class Shop {
public:
    bool pay(int region, int customer);

private:
    MYSQL *conn_;
    std::string last_error_;
};

bool Shop::pay(int region, int customer)
{
    if (mysql_query(conn_, "START TRANSACTION") != 0) {
        last_error_ = mysql_error(conn_);
        return false;
    }
    std::string first =
        "UPDATE region SET r_total = r_total + 1 WHERE r_id = " + std::to_string(region);
    if (mysql_query(conn_, first.c_str()) != 0) {
        last_error_ = mysql_error(conn_);
        mysql_rollback(conn_);
        return false;
    }
    std::string second =
        "UPDATE customer SET c_visits = 1 WHERE c_id = " + std::to_string(customer);
    if (mysql_query(conn_, second.c_str()) != 0) {
        last_error_ = mysql_error(conn_);
        mysql_rollback(conn_);
        return false;
    }
    if (mysql_query(conn_, "COMMIT") != 0) {
        last_error_ = mysql_error(conn_);
        mysql_rollback(conn_);
        return false;
    }
    return true;
}
