/* A mock of the C interface of MySQL and MariaDB: the values in bound buffers. */
#include "mock_mysql.h"

#include <stdlib.h>
#include <string.h>

static bool is_unsigned(const MYSQL_BIND *bind)
{
    return bind->is_unsigned != 0;
}

/* Returns the integer in a buffer. */
static long long integer_in(const MYSQL_BIND *bind)
{
    signed char tiny;
    short small;
    int normal;
    long long big;
    switch (bind->buffer_type) {
    case MYSQL_TYPE_TINY:
        memcpy(&tiny, bind->buffer, sizeof tiny);
        return is_unsigned(bind) ? (unsigned char)tiny : tiny;
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_YEAR:
        memcpy(&small, bind->buffer, sizeof small);
        return is_unsigned(bind) ? (unsigned short)small : small;
    case MYSQL_TYPE_LONGLONG:
        memcpy(&big, bind->buffer, sizeof big);
        return big;
    default:
        memcpy(&normal, bind->buffer, sizeof normal);
        return is_unsigned(bind) ? (long long)(unsigned)normal : normal;
    }
}

static int print_time(const MYSQL_BIND *bind, char *to, size_t size)
{
    MYSQL_TIME time;
    memcpy(&time, bind->buffer, sizeof time);
    if (bind->buffer_type == MYSQL_TYPE_DATE)
        return snprintf(to, size, "%04u-%02u-%02u", time.year % 10000, time.month % 100,
                        time.day % 100);
    if (bind->buffer_type == MYSQL_TYPE_TIME)
        return snprintf(to, size, "%s%02u:%02u:%02u", time.neg ? "-" : "", time.hour,
                        time.minute % 100, time.second % 100);
    return snprintf(to, size, "%04u-%02u-%02u %02u:%02u:%02u", time.year % 10000,
                    time.month % 100, time.day % 100, time.hour % 100, time.minute % 100,
                    time.second % 100);
}

struct mockdb_parameter mock_parameter_of(const MYSQL_BIND *bind, char *buffer)
{
    struct mockdb_parameter parameter = {buffer, 0, false};
    const size_t size = 64;
    float single;
    double real;
    if (bind->buffer_type == MYSQL_TYPE_NULL || (bind->is_null != NULL && *bind->is_null)) {
        parameter.bytes = NULL;
        return parameter;
    }
    switch (bind->buffer_type) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_YEAR:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG:
        if (is_unsigned(bind))
            snprintf(buffer, size, "%llu", (unsigned long long)integer_in(bind));
        else
            snprintf(buffer, size, "%lld", integer_in(bind));
        break;
    case MYSQL_TYPE_FLOAT:
        memcpy(&single, bind->buffer, sizeof single);
        snprintf(buffer, size, "%.9g", (double)single);
        break;
    case MYSQL_TYPE_DOUBLE:
        memcpy(&real, bind->buffer, sizeof real);
        snprintf(buffer, size, "%.17g", real);
        break;
    case MYSQL_TYPE_DATE:
    case MYSQL_TYPE_TIME:
    case MYSQL_TYPE_DATETIME:
    case MYSQL_TYPE_TIMESTAMP:
        print_time(bind, buffer, size);
        break;
    default:
        parameter.bytes = bind->buffer;
        parameter.length = bind->length != NULL ? *bind->length : bind->buffer_length;
        return parameter;
    }
    parameter.length = strlen(buffer);
    return parameter;
}

/* Writes an integer; returns true if it does not fit. */
static bool store_integer(const MYSQL_BIND *bind, const char *text)
{
    char *end;
    long long value = strtoll(text, &end, 10);
    bool rest = *end != '\0' && strspn(end, ".0") != strlen(end);
    signed char tiny = (signed char)value;
    short small = (short)value;
    int normal = (int)value;
    bool positive = is_unsigned(bind);
    switch (bind->buffer_type) {
    case MYSQL_TYPE_TINY:
        memcpy(bind->buffer, &tiny, sizeof tiny);
        return rest || value < (positive ? 0 : -128) || value > (positive ? 255 : 127);
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_YEAR:
        memcpy(bind->buffer, &small, sizeof small);
        return rest || value < (positive ? 0 : -32768) || value > (positive ? 65535 : 32767);
    case MYSQL_TYPE_LONGLONG:
        memcpy(bind->buffer, &value, sizeof value);
        return rest || (positive && value < 0);
    default:
        memcpy(bind->buffer, &normal, sizeof normal);
        return rest || (positive ? value < 0 || value > 0xffffffffLL : value != normal);
    }
}

static bool store_real(const MYSQL_BIND *bind, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    float single = (float)value;
    if (bind->buffer_type == MYSQL_TYPE_FLOAT)
        memcpy(bind->buffer, &single, sizeof single);
    else
        memcpy(bind->buffer, &value, sizeof value);
    return *end != '\0';
}

static bool store_time(const MYSQL_BIND *bind, const char *text)
{
    MYSQL_TIME time;
    memset(&time, 0, sizeof time);
    int count = sscanf(text, "%4u-%2u-%2u %2u:%2u:%2u", &time.year, &time.month, &time.day,
                       &time.hour, &time.minute, &time.second);
    time.time_type = bind->buffer_type == MYSQL_TYPE_DATE ? MYSQL_TIMESTAMP_DATE
                                                          : MYSQL_TIMESTAMP_DATETIME;
    memcpy(bind->buffer, &time, sizeof time);
    return count < 3;
}

/* Copies bytes; a zero byte stands behind them if there is room. */
static bool store_bytes(const MYSQL_BIND *bind, const struct mockdb_value *value,
                        unsigned long offset)
{
    unsigned long all = (unsigned long)value->length;
    unsigned long rest = offset < all ? all - offset : 0;
    unsigned long copied = rest < bind->buffer_length ? rest : bind->buffer_length;
    if (copied > 0)
        memcpy(bind->buffer, value->text + offset, copied);
    if (copied < bind->buffer_length)
        ((char *)bind->buffer)[copied] = '\0';
    return rest > bind->buffer_length;
}

static bool store(const MYSQL_BIND *bind, const struct mockdb_value *value, unsigned long offset)
{
    switch (bind->buffer_type) {
    case MYSQL_TYPE_NULL:
        return false;
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_YEAR:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG:
        return store_integer(bind, value->text);
    case MYSQL_TYPE_FLOAT:
    case MYSQL_TYPE_DOUBLE:
        return store_real(bind, value->text);
    case MYSQL_TYPE_DATE:
    case MYSQL_TYPE_TIME:
    case MYSQL_TYPE_DATETIME:
    case MYSQL_TYPE_TIMESTAMP:
        return store_time(bind, value->text);
    default:
        return store_bytes(bind, value, offset);
    }
}

/* Returns the length of a value of the bound type. */
static unsigned long length_of(const MYSQL_BIND *bind, const struct mockdb_value *value)
{
    switch (bind->buffer_type) {
    case MYSQL_TYPE_TINY:
        return 1;
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_YEAR:
        return 2;
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_FLOAT:
        return 4;
    case MYSQL_TYPE_LONGLONG:
    case MYSQL_TYPE_DOUBLE:
        return 8;
    default:
        return (unsigned long)value->length;
    }
}

bool mock_store(MYSQL_BIND *bind, const struct mockdb_value *value, unsigned long offset)
{
    bool truncated = false;
    if (bind->is_null != NULL)
        *bind->is_null = value->null;
    if (!value->null) {
        if (bind->length != NULL)
            *bind->length = length_of(bind, value);
        truncated = bind->buffer != NULL && store(bind, value, offset);
    }
    if (bind->error != NULL)
        *bind->error = truncated;
    return truncated;
}
