/*
 * A mock of SQLite's C interface: memory that the program gives back, the formats of
 * sqlite3_mprintf, and what the library says of itself.
 */
#include "mock_sqlite.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void *sqlite3_malloc64(sqlite3_uint64 n)
{
    return n > 0 ? mockdb_lend((size_t)n) : NULL;
}

void *sqlite3_malloc(int n)
{
    return n > 0 ? sqlite3_malloc64((sqlite3_uint64)n) : NULL;
}

void sqlite3_free(void *memory)
{
    mockdb_give_back(memory);
}

/* A text that grows, or that is cut off at the size of a buffer. */
struct output {
    char *text;
    size_t length;
    size_t size;
    bool fixed;
};

static void put(struct output *output, const char *bytes, size_t length)
{
    if (!output->fixed && output->length + length >= output->size) {
        output->size = 2 * (output->length + length) + 64;
        output->text = realloc(output->text, output->size);
        if (output->text == NULL)
            exit(MOCKDB_EXIT_NO_MEMORY);
    }
    for (size_t i = 0; i < length && output->length + 1 < output->size; i++)
        output->text[output->length++] = bytes[i];
}

/* Writes a text with its quotes doubled, between quotes if `quoted` is true. */
static void put_quoted(struct output *output, const char *text, char quote, bool quoted)
{
    if (text == NULL && quote == '\'') {
        put(output, quoted ? "NULL" : "(NULL)", quoted ? 4 : 6);
        return;
    }
    if (quoted)
        put(output, &quote, 1);
    for (; text != NULL && *text != '\0'; text++) {
        if (*text == quote)
            put(output, text, 1);
        put(output, text, 1);
    }
    if (quoted)
        put(output, &quote, 1);
}

/* Writes one conversion that printf knows as well. */
static void put_number(struct output *output, const char *format, char kind, int longs,
                       va_list *values)
{
    char text[512];
    int length = 0;
    bool is_signed = kind == 'd' || kind == 'i';
    if (strchr("eEfgG", kind) != NULL)
        length = snprintf(text, sizeof text, format, va_arg(*values, double));
    else if (kind == 'c')
        length = snprintf(text, sizeof text, format, va_arg(*values, int));
    else if (kind == 'p')
        length = snprintf(text, sizeof text, format, va_arg(*values, void *));
    else if (longs >= 2)
        length = is_signed ? snprintf(text, sizeof text, format, va_arg(*values, long long))
                           : snprintf(text, sizeof text, format,
                                      va_arg(*values, unsigned long long));
    else if (longs == 1)
        length = is_signed ? snprintf(text, sizeof text, format, va_arg(*values, long))
                           : snprintf(text, sizeof text, format, va_arg(*values, unsigned long));
    else
        length = is_signed ? snprintf(text, sizeof text, format, va_arg(*values, int))
                           : snprintf(text, sizeof text, format, va_arg(*values, unsigned));
    if (length > 0)
        put(output, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

static void put_text(struct output *output, const char *format, char kind, va_list *values)
{
    char *text = va_arg(*values, char *);
    const char *shown = text != NULL ? text : "";
    size_t room = strlen(shown) + 512;
    char *buffer = calloc(1, room);
    if (buffer == NULL)
        exit(MOCKDB_EXIT_NO_MEMORY);
    int length = snprintf(buffer, room, format, shown);
    put(output, buffer, length > 0 && (size_t)length < room ? (size_t)length : strlen(buffer));
    free(buffer);
    if (kind == 'z' && text != NULL)
        mockdb_give_back(text);
}

/* Reads one conversion behind its percent sign, writes its value, and returns its end. */
static const char *convert(struct output *output, const char *at, va_list *values)
{
    char format[80] = "%", number[16];
    size_t length = 1;
    int longs = 0;
    while (*at != '\0' && strchr("-+ #0123456789.,!*lh", *at) != NULL && length < 60) {
        if (*at == '*') {
            snprintf(number, sizeof number, "%d", va_arg(*values, int));
            memcpy(format + length, number, strlen(number));
            length += strlen(number);
        } else if (*at != ',' && *at != '!') {
            format[length++] = *at;
        }
        longs += *at++ == 'l';
    }
    char kind = *at;
    format[length] = kind == 'z' ? 's' : kind;
    if (kind == '\0')
        return at;
    if (kind == '%')
        put(output, "%", 1);
    else if (kind == 'q' || kind == 'Q')
        put_quoted(output, va_arg(*values, const char *), '\'', kind == 'Q');
    else if (kind == 'w')
        put_quoted(output, va_arg(*values, const char *), '"', false);
    else if (kind == 's' || kind == 'z')
        put_text(output, format, kind, values);
    else if (strchr("dioxXueEfgGcp", kind) != NULL)
        put_number(output, format, kind, longs, values);
    else
        mockdb_unsupported("a conversion of sqlite3_mprintf");
    return at + 1;
}

static void print(struct output *output, const char *format, va_list values)
{
    va_list copy;
    va_copy(copy, values);
    while (*format != '\0') {
        size_t plain = strcspn(format, "%");
        put(output, format, plain);
        format += plain;
        if (*format == '%')
            format = convert(output, format + 1, &copy);
    }
    va_end(copy);
}

char *sqlite3_vmprintf(const char *format, va_list values)
{
    struct output output = {NULL, 0, 0, false};
    print(&output, format, values);
    char *text = mockdb_lend(output.length + 1);
    if (output.length > 0)
        memcpy(text, output.text, output.length);
    free(output.text);
    return text;
}

char *sqlite3_mprintf(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    char *text = sqlite3_vmprintf(format, values);
    va_end(values);
    return text;
}

char *sqlite3_vsnprintf(int n, char *buffer, const char *format, va_list values)
{
    struct output output = {buffer, 0, n > 0 ? (size_t)n : 0, true};
    if (n <= 0)
        return buffer;
    print(&output, format, values);
    buffer[output.length] = '\0';
    return buffer;
}

char *sqlite3_snprintf(int n, char *buffer, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    sqlite3_vsnprintf(n, buffer, format, values);
    va_end(values);
    return buffer;
}

static int lower(char character)
{
    return character >= 'A' && character <= 'Z' ? character + 32 : (unsigned char)character;
}

int sqlite3_strnicmp(const char *a, const char *b, int n)
{
    for (int i = 0; i < n; i++) {
        if (lower(a[i]) != lower(b[i]) || a[i] == '\0')
            return lower(a[i]) - lower(b[i]);
    }
    return 0;
}

int sqlite3_stricmp(const char *a, const char *b)
{
    size_t length = strlen(a) + 1;
    return sqlite3_strnicmp(a, b, (int)length);
}

const char *sqlite3_errstr(int code)
{
    switch (code) {
    case SQLITE_OK:
        return "not an error";
    case SQLITE_BUSY:
        return "database is locked";
    case SQLITE_CONSTRAINT:
        return "constraint failed";
    case SQLITE_IOERR:
        return "disk I/O error";
    case SQLITE_FULL:
        return "database or disk is full";
    case SQLITE_ROW:
        return "another row available";
    case SQLITE_DONE:
        return "no more rows available";
    default:
        return "SQL logic error";
    }
}

const char *sqlite3_libversion(void)
{
    return SQLITE_VERSION;
}

int sqlite3_libversion_number(void)
{
    return SQLITE_VERSION_NUMBER;
}

int sqlite3_threadsafe(void)
{
    return 1;
}
