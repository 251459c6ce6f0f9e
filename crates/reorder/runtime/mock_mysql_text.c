/* A mock of the C interface of MySQL and MariaDB: the functions that quote, and what the
 * connection and the library say of themselves. */
#include "mock_mysql.h"

#include <string.h>

unsigned long STDCALL mysql_escape_string(char *to, const char *from, unsigned long length)
{
    static const char special[] = "\0\n\r\\'\"\032", letters[] = "0nr\\'\"Z";
    char *at = to;
    for (unsigned long i = 0; i < length; i++) {
        const char *found = memchr(special, from[i], sizeof special - 1);
        if (found != NULL)
            *at++ = '\\';
        *at++ = found != NULL ? letters[found - special] : from[i];
    }
    *at = '\0';
    return (unsigned long)(at - to);
}

unsigned long STDCALL mysql_real_escape_string(MYSQL *mysql, char *to, const char *from,
                                               unsigned long length)
{
    (void)mock_connection_of(mysql, "mysql_real_escape_string");
    return mysql_escape_string(to, from, length);
}

unsigned long STDCALL mysql_hex_string(char *to, const char *from, unsigned long len)
{
    static const char digits[] = "0123456789ABCDEF";
    for (unsigned long i = 0; i < len; i++) {
        to[2 * i] = digits[(unsigned char)from[i] / 16];
        to[2 * i + 1] = digits[(unsigned char)from[i] % 16];
    }
    to[2 * len] = '\0';
    return 2 * len;
}

unsigned long STDCALL mysql_thread_id(MYSQL *mysql)
{
    struct mock_connection *connection = mock_connection_of(mysql, "mysql_thread_id");
    return connection != NULL ? (unsigned long)connection->session.number : 0;
}

const char *STDCALL mysql_character_set_name(MYSQL *mysql)
{
    (void)mock_connection_of(mysql, "mysql_character_set_name");
    return "utf8mb4";
}

MOCK_INFO STDCALL mysql_get_server_info(MYSQL *mysql)
{
    static char version[] = "10.11.0-mock";
    (void)mock_connection_of(mysql, "mysql_get_server_info");
    return version;
}

MOCK_INFO STDCALL mysql_get_host_info(MYSQL *mysql)
{
    static char host[] = "mock";
    (void)mock_connection_of(mysql, "mysql_get_host_info");
    return host;
}

unsigned long STDCALL mysql_get_server_version(MYSQL *mysql)
{
    (void)mock_connection_of(mysql, "mysql_get_server_version");
    return 101100;
}

unsigned int STDCALL mysql_get_proto_info(MYSQL *mysql)
{
    (void)mock_connection_of(mysql, "mysql_get_proto_info");
    return 10;
}

const char *STDCALL mysql_get_client_info(void)
{
    return "10.11.0";
}

unsigned long STDCALL mysql_get_client_version(void)
{
    return 101100;
}

unsigned int STDCALL mysql_thread_safe(void)
{
    return 1;
}

my_bool STDCALL mysql_thread_init(void)
{
    return 0;
}

void STDCALL mysql_thread_end(void)
{
}

int STDCALL mysql_server_init(int argc, char **argv, char **groups)
{
    (void)argc, (void)argv, (void)groups;
    return 0;
}

void STDCALL mysql_server_end(void)
{
}

int STDCALL mysql_options(MYSQL *mysql, enum mysql_option option, const void *arg)
{
    (void)option, (void)arg;
    return mock_connection_of(mysql, "mysql_options") == NULL;
}

int STDCALL mysql_set_character_set(MYSQL *mysql, const char *csname)
{
    (void)csname;
    return mock_connection_of(mysql, "mysql_set_character_set") == NULL;
}

int STDCALL mysql_select_db(MYSQL *mysql, const char *db)
{
    (void)db;
    return mock_connection_of(mysql, "mysql_select_db") == NULL;
}
