/* The scanner of the mocks: it splits SQL into words, strings, numbers and single characters. */
#include "mock_token.h"

#include <ctype.h>
#include <string.h>

struct mockdb_scanner mockdb_scanner_of(struct mockdb_text sql)
{
    struct mockdb_scanner scanner = {sql.start, sql.start + sql.length, 0};
    return scanner;
}

static bool starts(const struct mockdb_scanner *scanner, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(scanner->end - scanner->at) >= length
           && memcmp(scanner->at, text, length) == 0;
}

static void skip_space(struct mockdb_scanner *scanner)
{
    while (scanner->at < scanner->end) {
        if (isspace((unsigned char)*scanner->at)) {
            scanner->at++;
        } else if (starts(scanner, "--")
                   || (mockdb_api.server == MOCKDB_MYSQL && *scanner->at == '#')) {
            while (scanner->at < scanner->end && *scanner->at != '\n')
                scanner->at++;
        } else if (starts(scanner, "/*")) {
            scanner->at += 2;
            while (scanner->at < scanner->end && !starts(scanner, "*/"))
                scanner->at++;
            scanner->at += starts(scanner, "*/") ? 2 : 0;
        } else {
            return;
        }
    }
}

static bool is_word(char character)
{
    unsigned char byte = (unsigned char)character;
    return isalnum(byte) || byte == '_' || byte >= 0x80;
}

/* Skips what stands between two equal quotes; a doubled quote does not end it. */
static void skip_quoted(struct mockdb_scanner *scanner, bool escapes)
{
    char quote = *scanner->at++;
    while (scanner->at < scanner->end) {
        if (escapes && *scanner->at == '\\' && scanner->at + 1 < scanner->end) {
            scanner->at += 2;
        } else if (*scanner->at++ == quote) {
            if (scanner->at == scanner->end || *scanner->at != quote)
                return;
            scanner->at++;
        }
    }
}

/* Skips $tag$ text $tag$; returns false if there is none here. */
static bool skip_dollars(struct mockdb_scanner *scanner)
{
    const char *tag = scanner->at, *at = scanner->at + 1;
    while (at < scanner->end && is_word(*at))
        at++;
    if (at == scanner->end || *at != '$' || isdigit((unsigned char)tag[1]))
        return false;
    size_t length = (size_t)(++at - tag);
    for (; (size_t)(scanner->end - at) >= length; at++) {
        if (memcmp(at, tag, length) == 0) {
            scanner->at = at + length;
            return true;
        }
    }
    scanner->at = scanner->end;
    return true;
}

static enum mockdb_token_kind skip_token(struct mockdb_scanner *scanner)
{
    char first = *scanner->at;
    bool marked = (first == 'e' || first == 'E') && scanner->at + 1 < scanner->end
                  && scanner->at[1] == '\'';
    bool escapes = marked || (first == '\'' && mockdb_api.server == MOCKDB_MYSQL);
    if (marked)
        scanner->at++;
    if (escapes || first == '\'') {
        skip_quoted(scanner, escapes);
        return TOKEN_LITERAL;
    }
    if (first == '"' && mockdb_api.server == MOCKDB_MYSQL) {
        skip_quoted(scanner, true);
        return TOKEN_LITERAL;
    }
    if (first == '"' || first == '`') {
        skip_quoted(scanner, false);
        return TOKEN_QUOTED;
    }
    if (first == '$' && skip_dollars(scanner))
        return TOKEN_LITERAL;
    if (!is_word(first)) {
        scanner->at++;
        return TOKEN_SIGN;
    }
    while (scanner->at < scanner->end && is_word(*scanner->at))
        scanner->at++;
    return isdigit((unsigned char)first) ? TOKEN_LITERAL : TOKEN_WORD;
}

struct mockdb_token mockdb_next_token(struct mockdb_scanner *scanner)
{
    struct mockdb_token token = {TOKEN_END, scanner->end, 0, scanner->depth};
    skip_space(scanner);
    if (scanner->at >= scanner->end)
        return token;
    token.start = scanner->at;
    token.kind = skip_token(scanner);
    token.length = (size_t)(scanner->at - token.start);
    if (token.kind == TOKEN_SIGN && *token.start == '(')
        scanner->depth++;
    if (token.kind == TOKEN_SIGN && *token.start == ')' && scanner->depth > 0)
        token.depth = --scanner->depth;
    return token;
}

bool mockdb_is(struct mockdb_token token, const char *word)
{
    if (token.kind != TOKEN_WORD || token.length != strlen(word))
        return false;
    for (size_t i = 0; i < token.length; i++) {
        if (tolower((unsigned char)token.start[i]) != word[i])
            return false;
    }
    return true;
}

bool mockdb_is_one_of(struct mockdb_token token, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (mockdb_is(token, *words))
            return true;
    }
    return false;
}

bool mockdb_is_sign(struct mockdb_token token, char sign)
{
    return token.kind == TOKEN_SIGN && *token.start == sign;
}
