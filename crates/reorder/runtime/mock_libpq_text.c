/* A mock of libpq: the functions that quote, and memory that the program gives back. */
#include "mock_libpq.h"

#include <stdlib.h>
#include <string.h>

void PQfreemem(void *ptr)
{
    mockdb_give_back(ptr);
}

/* Doubles single quotes; returns the number of bytes written, without the zero byte. */
static size_t escape(char *to, const char *from, size_t length)
{
    char *at = to;
    for (size_t i = 0; i < length && from[i] != '\0'; i++) {
        if (from[i] == '\'')
            *at++ = '\'';
        *at++ = from[i];
    }
    *at = '\0';
    return (size_t)(at - to);
}

size_t PQescapeStringConn(PGconn *conn, char *to, const char *from, size_t length, int *error)
{
    if (error != NULL)
        *error = conn == NULL;
    return escape(to, from, length);
}

size_t PQescapeString(char *to, const char *from, size_t length)
{
    return escape(to, from, length);
}

static char *quote(const char *text, size_t length, char mark)
{
    char *to = mockdb_lend(2 * length + 3), *at = to;
    *at++ = mark;
    for (size_t i = 0; i < length && text[i] != '\0'; i++) {
        if (text[i] == mark)
            *at++ = mark;
        *at++ = text[i];
    }
    *at++ = mark;
    *at = '\0';
    return to;
}

char *PQescapeLiteral(PGconn *conn, const char *str, size_t len)
{
    return conn != NULL ? quote(str, len, '\'') : NULL;
}

char *PQescapeIdentifier(PGconn *conn, const char *str, size_t len)
{
    return conn != NULL ? quote(str, len, '"') : NULL;
}

unsigned char *PQescapeBytea(const unsigned char *from, size_t from_length, size_t *to_length)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char *to = mockdb_lend(2 * from_length + 3), *at = to;
    *at++ = '\\';
    *at++ = 'x';
    for (size_t i = 0; i < from_length; i++) {
        *at++ = (unsigned char)digits[from[i] / 16];
        *at++ = (unsigned char)digits[from[i] % 16];
    }
    *at = '\0';
    *to_length = (size_t)(at - to) + 1;
    return to;
}

unsigned char *PQescapeByteaConn(PGconn *conn, const unsigned char *from, size_t from_length,
                                 size_t *to_length)
{
    return conn != NULL ? PQescapeBytea(from, from_length, to_length) : NULL;
}

unsigned char *PQunescapeBytea(const unsigned char *strtext, size_t *retbuflen)
{
    const char *text = (const char *)strtext;
    if (text == NULL || strncmp(text, "\\x", 2) != 0)
        return NULL;
    size_t length = strlen(text + 2) / 2;
    unsigned char *to = mockdb_lend(length + 1);
    for (size_t i = 0; i < length; i++) {
        char pair[3] = {text[2 + 2 * i], text[3 + 2 * i], '\0'};
        to[i] = (unsigned char)strtoul(pair, NULL, 16);
    }
    *retbuflen = length;
    return to;
}
