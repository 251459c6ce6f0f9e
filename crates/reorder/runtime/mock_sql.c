/*
 * As much of SQL as the mocks need: the end of a statement, its first word, the list of its result
 * columns. A scanner splits the text into words, strings, numbers and single characters, and counts
 * parentheses.
 */
#include "mock_core.h"

#include <ctype.h>
#include <string.h>

enum token_kind { TOKEN_END, TOKEN_WORD, TOKEN_QUOTED, TOKEN_LITERAL, TOKEN_SIGN };

struct token {
    enum token_kind kind;
    const char *start;
    size_t length;
    int depth; /* of parentheses; a parenthesis has the depth of what is outside of it */
};

struct scanner {
    const char *at;
    const char *end;
    int depth;
};

static struct scanner scanner_of(struct mockdb_text sql)
{
    struct scanner scanner = {sql.start, sql.start + sql.length, 0};
    return scanner;
}

static bool starts(const struct scanner *scanner, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(scanner->end - scanner->at) >= length
           && memcmp(scanner->at, text, length) == 0;
}

static void skip_space(struct scanner *scanner)
{
    while (scanner->at < scanner->end) {
        if (isspace((unsigned char)*scanner->at)) {
            scanner->at++;
        } else if (starts(scanner, "--")) {
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
static void skip_quoted(struct scanner *scanner, bool escapes)
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
static bool skip_dollars(struct scanner *scanner)
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

static enum token_kind skip_token(struct scanner *scanner)
{
    char first = *scanner->at;
    bool escapes = (first == 'e' || first == 'E') && scanner->at + 1 < scanner->end
                   && scanner->at[1] == '\'';
    if (escapes)
        scanner->at++;
    if (escapes || first == '\'') {
        skip_quoted(scanner, escapes);
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

static struct token next_token(struct scanner *scanner)
{
    struct token token = {TOKEN_END, scanner->end, 0, scanner->depth};
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

static bool is(struct token token, const char *word)
{
    if (token.kind != TOKEN_WORD || token.length != strlen(word))
        return false;
    for (size_t i = 0; i < token.length; i++) {
        if (tolower((unsigned char)token.start[i]) != word[i])
            return false;
    }
    return true;
}

static bool is_one_of(struct token token, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (is(token, *words))
            return true;
    }
    return false;
}

static bool is_sign(struct token token, char sign)
{
    return token.kind == TOKEN_SIGN && *token.start == sign;
}

bool mockdb_next_statement(const char **rest, struct mockdb_text *statement)
{
    struct scanner scanner = {*rest, *rest + strlen(*rest), 0};
    struct token token = next_token(&scanner);
    while (is_sign(token, ';'))
        token = next_token(&scanner);
    const char *last = statement->start = token.start;
    while (token.kind != TOKEN_END && !is_sign(token, ';')) {
        last = token.start + token.length;
        token = next_token(&scanner);
    }
    statement->length = (size_t)(last - statement->start);
    *rest = scanner.at;
    return statement->length > 0;
}

/* Returns the word that says what the statement does: the first, or the one behind WITH. */
static struct token main_word(struct scanner *scanner)
{
    static const char *const kinds[] = {"select", "insert", "update", "delete", "merge", NULL};
    struct token token = next_token(scanner);
    while (is_sign(token, '('))
        token = next_token(scanner);
    if (!is(token, "with"))
        return token;
    int depth = token.depth;
    while (token.kind != TOKEN_END && !(token.depth == depth && is_one_of(token, kinds)))
        token = next_token(scanner);
    return token;
}

static enum mockdb_statement classify_rollback(struct scanner *scanner)
{
    static const char *const fillers[] = {"work", "transaction", NULL};
    struct token token = next_token(scanner);
    while (is_one_of(token, fillers))
        token = next_token(scanner);
    return is(token, "to") ? MOCKDB_ROLLBACK_TO : MOCKDB_ROLLBACK;
}

enum mockdb_statement mockdb_classify(struct mockdb_text sql)
{
    static const char *const rows[] = {"select", "values", "table", "show",
                                       "explain", "fetch", NULL};
    static const char *const changes[] = {"insert", "update", "delete", "merge", "replace", NULL};
    struct scanner scanner = scanner_of(sql);
    struct token word = main_word(&scanner);
    if (word.kind == TOKEN_END)
        return MOCKDB_EMPTY;
    if (is_one_of(word, rows))
        return MOCKDB_ROWS;
    if (is_one_of(word, changes))
        return MOCKDB_CHANGE;
    if (is(word, "begin") || is(word, "start"))
        return MOCKDB_BEGIN;
    if (is(word, "commit") || is(word, "end"))
        return MOCKDB_COMMIT;
    if (is(word, "rollback") || is(word, "abort"))
        return classify_rollback(&scanner);
    if (is(word, "savepoint"))
        return MOCKDB_SAVEPOINT;
    return is(word, "release") ? MOCKDB_RELEASE : MOCKDB_OTHER;
}

const char *mockdb_verb(struct mockdb_text sql)
{
    static char verb[32];
    struct scanner scanner = scanner_of(sql);
    struct token word = main_word(&scanner);
    size_t length = word.length < sizeof verb ? word.length : sizeof verb - 1;
    for (size_t i = 0; i < length; i++)
        verb[i] = (char)toupper((unsigned char)word.start[i]);
    verb[length] = '\0';
    return verb;
}

/* Moves to the first item of the list of result columns, whose depth is returned; -1 if the
 * statement has no such list. */
static int find_list(struct scanner *scanner)
{
    struct token token = main_word(scanner);
    int depth = token.depth;
    if (!is(token, "select")) {
        while (token.kind != TOKEN_END && !(token.depth == depth && is(token, "returning")))
            token = next_token(scanner);
        return token.kind == TOKEN_END ? -1 : depth;
    }
    struct scanner ahead = *scanner;
    token = next_token(&ahead);
    if (is(token, "distinct") || is(token, "all")) {
        *scanner = ahead;
        token = next_token(&ahead);
        while (is(token, "on") || token.depth > depth || is_sign(token, '(')
               || is_sign(token, ')')) {
            *scanner = ahead;
            token = next_token(&ahead);
        }
    }
    return depth;
}

int mockdb_items(struct mockdb_text sql, struct mockdb_text *items, int capacity)
{
    static const char *const ends[] = {"from",  "into",   "where",     "group", "order",
                                       "limit", "having", "union",     "for",   "window",
                                       "fetch", "offset", "intersect", "except", NULL};
    struct scanner scanner = scanner_of(sql);
    int depth = find_list(&scanner), count = 0;
    if (depth < 0)
        return mockdb_classify(sql) == MOCKDB_CHANGE ? 0 : -1;
    struct mockdb_text item = {NULL, 0};
    for (;;) {
        struct token token = next_token(&scanner);
        bool top = token.depth <= depth;
        bool last = token.kind == TOKEN_END || token.depth < depth
                    || (top && is_one_of(token, ends));
        if (last || (top && is_sign(token, ','))) {
            if (item.start != NULL && count < capacity)
                items[count++] = item;
            item.start = NULL;
            if (last)
                return count;
        } else {
            item.start = item.start != NULL ? item.start : token.start;
            item.length = (size_t)(token.start + token.length - item.start);
        }
    }
}

struct mockdb_text mockdb_item_name(struct mockdb_text item)
{
    struct scanner scanner = scanner_of(item);
    struct token token, function = {TOKEN_END, NULL, 0, 0}, name = function, before = function;
    bool cast = false;
    while ((token = next_token(&scanner)).kind != TOKEN_END) {
        bool word = token.kind == TOKEN_WORD || token.kind == TOKEN_QUOTED;
        if (token.depth == 0 && is_sign(token, '(') && before.kind == TOKEN_WORD) {
            function = function.kind == TOKEN_END ? before : function;
            name.kind = TOKEN_END;
        } else if (token.depth == 0 && is_sign(token, ':')) {
            cast = true;
        } else if (token.depth == 0 && token.kind == TOKEN_SIGN && !is_sign(token, '.')
                   && !is_sign(token, ')')) {
            name.kind = TOKEN_END;
            function.kind = TOKEN_END;
        } else if (token.depth == 0 && word && (!cast || is(before, "as"))) {
            name = token;
        }
        before = token;
    }
    struct token chosen = name.kind != TOKEN_END ? name : function;
    struct mockdb_text text = {"?column?", 8};
    if (chosen.kind == TOKEN_END)
        return text;
    text.start = chosen.start + (chosen.kind == TOKEN_QUOTED ? 1 : 0);
    text.length = chosen.length - (chosen.kind == TOKEN_QUOTED ? 2 : 0);
    return text;
}

bool mockdb_mentions(struct mockdb_text sql, const char *word)
{
    struct scanner scanner = scanner_of(sql);
    struct token token;
    while ((token = next_token(&scanner)).kind != TOKEN_END) {
        if (is(token, word))
            return true;
    }
    return false;
}

bool mockdb_is_aggregate(struct mockdb_text item)
{
    static const char *const names[] = {"count", "sum", "min", "max", "avg", NULL};
    struct scanner scanner = scanner_of(item);
    struct token token, before = {TOKEN_END, NULL, 0, 0};
    while ((token = next_token(&scanner)).kind != TOKEN_END) {
        if (is_sign(token, '(') && is_one_of(before, names))
            return true;
        before = token;
    }
    return false;
}
