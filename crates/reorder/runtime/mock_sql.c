/*
 * As much of SQL as the mocks need: the end of a statement, its first word, the list of its result
 * columns.
 */
#include "mock_token.h"

#include <ctype.h>
#include <string.h>

bool mockdb_next_statement(const char **rest, struct mockdb_text *statement)
{
    struct mockdb_scanner scanner = {*rest, *rest + strlen(*rest), 0};
    struct mockdb_token token = mockdb_next_token(&scanner);
    while (mockdb_is_sign(token, ';'))
        token = mockdb_next_token(&scanner);
    const char *last = statement->start = token.start;
    while (token.kind != TOKEN_END && !mockdb_is_sign(token, ';')) {
        last = token.start + token.length;
        token = mockdb_next_token(&scanner);
    }
    statement->length = (size_t)(last - statement->start);
    *rest = scanner.at;
    return statement->length > 0;
}

struct mockdb_token mockdb_main_word(struct mockdb_scanner *scanner)
{
    static const char *const kinds[] = {"select", "insert", "update", "delete", "merge", NULL};
    struct mockdb_token token = mockdb_next_token(scanner);
    while (mockdb_is_sign(token, '('))
        token = mockdb_next_token(scanner);
    if (!mockdb_is(token, "with"))
        return token;
    int depth = token.depth;
    while (token.kind != TOKEN_END && !(token.depth == depth && mockdb_is_one_of(token, kinds)))
        token = mockdb_next_token(scanner);
    return token;
}

static enum mockdb_statement classify_rollback(struct mockdb_scanner *scanner)
{
    static const char *const fillers[] = {"work", "transaction", NULL};
    struct mockdb_token token = mockdb_next_token(scanner);
    while (mockdb_is_one_of(token, fillers))
        token = mockdb_next_token(scanner);
    return mockdb_is(token, "to") ? MOCKDB_ROLLBACK_TO : MOCKDB_ROLLBACK;
}

enum mockdb_statement mockdb_classify(struct mockdb_text sql)
{
    static const char *const rows[] = {"select", "values", "table", "show",
                                       "explain", "fetch", NULL};
    static const char *const changes[] = {"insert", "update", "delete", "merge", "replace", NULL};
    struct mockdb_scanner scanner = mockdb_scanner_of(sql);
    struct mockdb_token word = mockdb_main_word(&scanner);
    if (word.kind == TOKEN_END)
        return MOCKDB_EMPTY;
    if (mockdb_is_one_of(word, rows))
        return MOCKDB_ROWS;
    if (mockdb_is_one_of(word, changes))
        return MOCKDB_CHANGE;
    if (mockdb_is(word, "begin") || mockdb_is(word, "start"))
        return MOCKDB_BEGIN;
    if (mockdb_is(word, "commit") || mockdb_is(word, "end"))
        return MOCKDB_COMMIT;
    if (mockdb_is(word, "rollback") || mockdb_is(word, "abort"))
        return classify_rollback(&scanner);
    if (mockdb_is(word, "savepoint"))
        return MOCKDB_SAVEPOINT;
    return mockdb_is(word, "release") ? MOCKDB_RELEASE : MOCKDB_OTHER;
}

const char *mockdb_verb(struct mockdb_text sql)
{
    static char verb[32];
    struct mockdb_scanner scanner = mockdb_scanner_of(sql);
    struct mockdb_token word = mockdb_main_word(&scanner);
    size_t length = word.length < sizeof verb ? word.length : sizeof verb - 1;
    for (size_t i = 0; i < length; i++)
        verb[i] = (char)toupper((unsigned char)word.start[i]);
    verb[length] = '\0';
    return verb;
}

/* Moves to the first item of the list of result columns, whose depth is returned; -1 if the
 * statement has no such list. */
static int find_list(struct mockdb_scanner *scanner)
{
    struct mockdb_token token = mockdb_main_word(scanner);
    int depth = token.depth;
    if (!mockdb_is(token, "select")) {
        while (token.kind != TOKEN_END && !(token.depth == depth && mockdb_is(token, "returning")))
            token = mockdb_next_token(scanner);
        return token.kind == TOKEN_END ? -1 : depth;
    }
    struct mockdb_scanner ahead = *scanner;
    token = mockdb_next_token(&ahead);
    if (mockdb_is(token, "distinct") || mockdb_is(token, "all")) {
        *scanner = ahead;
        token = mockdb_next_token(&ahead);
        while (mockdb_is(token, "on") || token.depth > depth || mockdb_is_sign(token, '(')
               || mockdb_is_sign(token, ')')) {
            *scanner = ahead;
            token = mockdb_next_token(&ahead);
        }
    }
    return depth;
}

int mockdb_items(struct mockdb_text sql, struct mockdb_text *items, int capacity)
{
    static const char *const ends[] = {"from",  "into",   "where",     "group", "order",
                                       "limit", "having", "union",     "for",   "window",
                                       "fetch", "offset", "intersect", "except", NULL};
    struct mockdb_scanner scanner = mockdb_scanner_of(sql);
    int depth = find_list(&scanner), count = 0;
    if (depth < 0)
        return mockdb_classify(sql) == MOCKDB_CHANGE ? 0 : -1;
    struct mockdb_text item = {NULL, 0};
    for (;;) {
        struct mockdb_token token = mockdb_next_token(&scanner);
        bool top = token.depth <= depth;
        bool last = token.kind == TOKEN_END || token.depth < depth
                    || (top && mockdb_is_one_of(token, ends));
        if (last || (top && mockdb_is_sign(token, ','))) {
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
    struct mockdb_scanner scanner = mockdb_scanner_of(item);
    struct mockdb_token token, function = {TOKEN_END, NULL, 0, 0}, name = function, before = function;
    bool cast = false;
    while ((token = mockdb_next_token(&scanner)).kind != TOKEN_END) {
        bool word = token.kind == TOKEN_WORD || token.kind == TOKEN_QUOTED;
        if (token.depth == 0 && mockdb_is_sign(token, '(') && before.kind == TOKEN_WORD) {
            function = function.kind == TOKEN_END ? before : function;
            name.kind = TOKEN_END;
        } else if (token.depth == 0 && mockdb_is_sign(token, ':')) {
            cast = true;
        } else if (token.depth == 0 && token.kind == TOKEN_SIGN && !mockdb_is_sign(token, '.')
                   && !mockdb_is_sign(token, ')')) {
            name.kind = TOKEN_END;
            function.kind = TOKEN_END;
        } else if (token.depth == 0 && word && (!cast || mockdb_is(before, "as"))) {
            name = token;
        }
        before = token;
    }
    struct mockdb_token chosen = name.kind != TOKEN_END ? name : function;
    struct mockdb_text text = {"?column?", 8};
    if (chosen.kind == TOKEN_END)
        return text;
    text.start = chosen.start + (chosen.kind == TOKEN_QUOTED ? 1 : 0);
    text.length = chosen.length - (chosen.kind == TOKEN_QUOTED ? 2 : 0);
    return text;
}

bool mockdb_mentions(struct mockdb_text sql, const char *word)
{
    struct mockdb_scanner scanner = mockdb_scanner_of(sql);
    struct mockdb_token token;
    while ((token = mockdb_next_token(&scanner)).kind != TOKEN_END) {
        if (mockdb_is(token, word))
            return true;
    }
    return false;
}

int mockdb_count_sign(struct mockdb_text sql, char sign)
{
    struct mockdb_scanner scanner = mockdb_scanner_of(sql);
    struct mockdb_token token;
    int count = 0;
    while ((token = mockdb_next_token(&scanner)).kind != TOKEN_END)
        count += mockdb_is_sign(token, sign);
    return count;
}

int mockdb_autocommit_of(struct mockdb_text sql)
{
    struct mockdb_scanner scanner = mockdb_scanner_of(sql);
    struct mockdb_token token, last = {TOKEN_END, NULL, 0, 0};
    if (!mockdb_is(mockdb_next_token(&scanner), "set") || !mockdb_mentions(sql, "autocommit"))
        return -1;
    while ((token = mockdb_next_token(&scanner)).kind != TOKEN_END)
        last = token;
    if (mockdb_is(last, "on") || mockdb_is(last, "true"))
        return 1;
    return last.length == 1 && *last.start == '1';
}

bool mockdb_commits_by_itself(struct mockdb_text sql)
{
    static const char *const words[] = {"create", "alter", "drop", "truncate", "rename",
                                        "lock",   "grant", "revoke", NULL};
    struct mockdb_scanner scanner = mockdb_scanner_of(sql);
    return mockdb_is_one_of(mockdb_main_word(&scanner), words)
           && !mockdb_mentions(sql, "temporary");
}

bool mockdb_is_aggregate(struct mockdb_text item)
{
    static const char *const names[] = {"count", "sum", "min", "max", "avg", NULL};
    struct mockdb_scanner scanner = mockdb_scanner_of(item);
    struct mockdb_token token, before = {TOKEN_END, NULL, 0, 0};
    while ((token = mockdb_next_token(&scanner)).kind != TOKEN_END) {
        if (mockdb_is_sign(token, '(') && mockdb_is_one_of(before, names))
            return true;
        before = token;
    }
    return false;
}
