/* The tokens of SQL, as far as the mocks need them. */
#ifndef MOCK_TOKEN_H
#define MOCK_TOKEN_H

#include "mock_core.h"

enum mockdb_token_kind { TOKEN_END, TOKEN_WORD, TOKEN_QUOTED, TOKEN_LITERAL, TOKEN_SIGN };

struct mockdb_token {
    enum mockdb_token_kind kind;
    const char *start;
    size_t length;
    int depth; /* of parentheses; a parenthesis has the depth of what is outside of it */
};

struct mockdb_scanner {
    const char *at;
    const char *end;
    int depth;
};

struct mockdb_scanner mockdb_scanner_of(struct mockdb_text sql);
/* Takes the next token off the text. */
struct mockdb_token mockdb_next_token(struct mockdb_scanner *scanner);
/* Returns true if the token is a word, in any case; `word` is in lower case. */
bool mockdb_is(struct mockdb_token token, const char *word);
/* The same for a list of words that ends with NULL. */
bool mockdb_is_one_of(struct mockdb_token token, const char *const *words);
bool mockdb_is_sign(struct mockdb_token token, char sign);
/* Takes the word that says what the statement does: the first, or the one behind WITH. */
struct mockdb_token mockdb_main_word(struct mockdb_scanner *scanner);

#endif
