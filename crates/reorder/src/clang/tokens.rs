//! The tokens and directives of a C or C++ text.
//!
//! libclang does not show operators, parentheses and keywords in its tree; the front end reads them
//! from the tokens. The lexer takes one pass over the text, accepts every text and never panics:
//! an unterminated literal ends with its line. Comments, white space and preprocessor directives
//! yield no tokens.

use crate::{ir::Language, source::Range};

/// The kinds of tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TokenKind {
    /// An identifier or a keyword.
    Identifier,
    /// A preprocessing number: `0x1F`, `2.5e3`, `10UL`.
    Number,
    /// A string literal with its prefix.
    Text,
    /// A character constant with its prefix.
    Character,
    /// An operator or a bracket, or any other single character.
    Punctuation,
}

/// A token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token {
    /// Where it stands.
    pub(crate) range: Range,
    /// The kind of token.
    pub(crate) kind: TokenKind,
}

/// The tokens and the directives of a text, each in the order of the text.
#[derive(Debug)]
pub(crate) struct Lexed {
    /// The tokens outside of directives.
    pub(crate) tokens: Vec<Token>,
    /// The directives, each from its `#` to the end of its last line.
    pub(crate) directives: Vec<Range>,
}

/// Operators of more than one character, the longer ones first.
const OPERATORS: &[&str] = &[
    "...", "<<=", ">>=", "->*", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||",
    "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "##", "::", ".*",
];

/// Reads the tokens and the directives of a text.
pub(crate) fn lex(text: &str, language: Language) -> Lexed {
    let mut lexer = Lexer {
        bytes: text.as_bytes(),
        cpp: language == Language::Cpp,
        at: 0,
        line_start: true,
        out: Lexed { tokens: Vec::new(), directives: Vec::new() },
    };
    if text.starts_with('\u{feff}') {
        lexer.at = '\u{feff}'.len_utf8();
    }
    while lexer.at < lexer.bytes.len() {
        lexer.step();
    }
    lexer.out
}

struct Lexer<'a> {
    bytes: &'a [u8],
    cpp: bool,
    at: usize,
    /// True as long as the line has no token.
    line_start: bool,
    out: Lexed,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn step(&mut self) {
        let start = self.at;
        match self.peek(0) {
            b'\n' => {
                self.at += 1;
                self.line_start = true;
            }
            b' ' | b'\t' | b'\r' | 0x0b | 0x0c => self.at += 1,
            b'\\' if self.splice() > 0 => self.at += self.splice(),
            b'/' if matches!(self.peek(1), b'/' | b'*') => self.comment(),
            b'#' if self.line_start => self.directive(),
            _ => {
                let kind = self.token();
                self.line_start = false;
                self.out.tokens.push(Token { range: Range::new(start, self.at), kind });
            }
        }
    }

    /// Returns the length of a backslash with the line end behind it; 0 if there is none.
    fn splice(&self) -> usize {
        match (self.peek(0), self.peek(1), self.peek(2)) {
            (b'\\', b'\n', _) => 2,
            (b'\\', b'\r', b'\n') => 3,
            _ => 0,
        }
    }

    fn comment(&mut self) {
        let block = self.peek(1) == b'*';
        self.at += 2;
        while self.at < self.bytes.len() {
            if block && self.peek(0) == b'*' && self.peek(1) == b'/' {
                self.at += 2;
                return;
            }
            if !block && self.peek(0) == b'\n' {
                return;
            }
            self.at += if block { 1 } else { self.splice().max(1) };
        }
    }

    /// Skips a directive: to the end of the line, across spliced lines and block comments.
    fn directive(&mut self) {
        let start = self.at;
        while self.at < self.bytes.len() {
            match self.peek(0) {
                b'\n' => break,
                b'/' if matches!(self.peek(1), b'/' | b'*') => self.comment(),
                quote @ (b'"' | b'\'') => self.quoted(quote),
                _ => self.at += self.splice().max(1),
            }
        }
        let mut end = self.at;
        if self.bytes[start..end].ends_with(b"\r") {
            end -= 1;
        }
        self.out.directives.push(Range::new(start, end));
    }

    fn token(&mut self) -> TokenKind {
        let first = self.peek(0);
        if first.is_ascii_digit() || first == b'.' && self.peek(1).is_ascii_digit() {
            self.number();
            return TokenKind::Number;
        }
        if matches!(first, b'"' | b'\'') {
            self.quoted(first);
            return if first == b'"' { TokenKind::Text } else { TokenKind::Character };
        }
        if starts_word(first) {
            return self.word();
        }
        let rest = &self.bytes[self.at..];
        let operator = OPERATORS.iter().find(|one| rest.starts_with(one.as_bytes()));
        self.at += operator.map_or(1, |one| one.len());
        TokenKind::Punctuation
    }

    fn number(&mut self) {
        while self.at < self.bytes.len() {
            let (here, next) = (self.peek(0), self.peek(1));
            let sign = matches!(here, b'e' | b'E' | b'p' | b'P') && matches!(next, b'+' | b'-');
            let separator = self.cpp && here == b'\'' && continues_word(next);
            if sign || separator {
                self.at += 2;
            } else if continues_word(here) || here == b'.' {
                self.at += 1;
            } else {
                return;
            }
        }
    }

    /// Reads an identifier, or a literal that begins with a prefix.
    fn word(&mut self) -> TokenKind {
        let start = self.at;
        while continues_word(self.peek(0)) && self.at < self.bytes.len() {
            self.at += 1;
        }
        let word = &self.bytes[start..self.at];
        let quote = self.peek(0);
        let prefix: &[u8] = word.strip_suffix(b"R").unwrap_or(word);
        if !matches!(prefix, b"" | b"L" | b"u" | b"U" | b"u8") {
            return TokenKind::Identifier;
        }
        if quote == b'"' && prefix.len() < word.len() && self.cpp {
            self.raw();
            return TokenKind::Text;
        }
        match quote {
            b'"' | b'\'' if prefix.len() == word.len() => {
                self.quoted(quote);
                if quote == b'"' { TokenKind::Text } else { TokenKind::Character }
            }
            _ => TokenKind::Identifier,
        }
    }

    /// Reads to the closing quote, or to the end of the line if there is none.
    fn quoted(&mut self, quote: u8) {
        self.at += 1;
        while self.at < self.bytes.len() {
            let here = self.peek(0);
            if here == b'\n' {
                return;
            }
            if here == b'\\' {
                self.at += self.splice().max(2);
                continue;
            }
            self.at += 1;
            if here == quote {
                return;
            }
        }
        self.at = self.bytes.len();
    }

    /// Reads a raw string from its quote: `"sql(…)sql"`.
    fn raw(&mut self) {
        let rest = &self.bytes[self.at + 1..];
        let open = rest.iter().take(17).position(|&byte| byte == b'(');
        let Some(open) = open else {
            self.quoted(b'"');
            return;
        };
        let closing = [b")", &rest[..open], b"\""].concat();
        let body = &rest[open..];
        let end = body.windows(closing.len()).position(|window| window == closing);
        self.at = end.map_or(self.bytes.len(), |end| self.at + 1 + open + end + closing.len());
    }
}

fn starts_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$' || byte >= 0x80
}

fn continues_word(byte: u8) -> bool {
    starts_word(byte) || byte.is_ascii_digit()
}

/// Returns for each bracket the place of its partner in `texts`, the tokens' texts.
pub(crate) fn partners<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<Option<usize>> {
    let (mut partners, mut open) = (Vec::new(), Vec::new());
    for (place, text) in texts.enumerate() {
        partners.push(None);
        let opening = match text {
            "(" | "[" | "{" => {
                open.push((place, text));
                continue;
            }
            ")" => "(",
            "]" => "[",
            "}" => "{",
            _ => continue,
        };
        if open.last().is_some_and(|&(_, text)| text == opening)
            && let Some((partner, _)) = open.pop()
        {
            partners[partner] = Some(place);
            partners[place] = Some(partner);
        }
    }
    partners
}

/// The longest statement that libclang is given; its parser and its tree recurse with the length of
/// a sum or of a chain of `else if`, and overflow its stack at about three times as many tokens.
const MOST_TOKENS: usize = 10_000;

/// Returns the end of the first statement or expression with more than [`MOST_TOKENS`] tokens at
/// one level of brackets. A chain of `else` is one statement, the elements of a list are several.
pub(super) fn too_long(text: &str, tokens: &[Token]) -> Option<Range> {
    let mut lengths = vec![0usize];
    for (place, token) in tokens.iter().enumerate() {
        let next = tokens.get(place + 1).map_or("", |next| next.range.of(text));
        let length = match token.range.of(text) {
            "(" | "[" | "{" => {
                lengths.push(0);
                continue;
            }
            closing @ (")" | "]" | "}") => {
                if lengths.len() > 1 {
                    lengths.pop();
                }
                if closing == "}" && next != "else" { 0 } else { lengths[lengths.len() - 1] + 1 }
            }
            "," => 0,
            ";" if next != "else" => 0,
            _ => lengths[lengths.len() - 1] + usize::from(token.kind != TokenKind::Text),
        };
        if let Some(last) = lengths.last_mut() {
            *last = length;
        }
        if length > MOST_TOKENS {
            return Some(token.range);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str, language: Language) -> Vec<&str> {
        lex(text, language).tokens.iter().map(|token| token.range.of(text)).collect()
    }

    #[test]
    fn comments_and_directives_are_no_tokens() {
        let text =
            "#define A \\\r\n 1 /* x\n y */ 2\r\nint /* ; */ a; // b\\\n c\n#if 0\n'\n#endif";
        let lexed = lex(text, Language::C);
        let directives: Vec<_> = lexed.directives.iter().map(|range| range.of(text)).collect();
        assert_eq!(directives, ["#define A \\\r\n 1 /* x\n y */ 2", "#if 0", "#endif"]);
        assert_eq!(texts(text, Language::C), ["int", "a", ";", "'"]);
    }

    #[test]
    fn operators_take_the_most_characters() {
        let found = texts("a+++b>>=c->d...x<=.5e-3f-1'0", Language::Cpp);
        let expected =
            ["a", "++", "+", "b", ">>=", "c", "->", "d", "...", "x", "<=", ".5e-3f", "-", "1'0"];
        assert_eq!(found, expected);
    }

    #[test]
    fn literals_keep_their_prefixes_and_escapes() {
        let text = r#"L"a\"b" u8'x' '\'' R"q(a)"b)q" "ä;" ü"#;
        let found = texts(text, Language::Cpp);
        assert_eq!(found, [r#"L"a\"b""#, "u8'x'", r"'\''", r#"R"q(a)"b)q""#, "\"ä;\"", "ü"]);
    }

    #[test]
    fn unterminated_literals_end_with_the_line() {
        assert_eq!(texts("don't\n\"x", Language::C), ["don", "'t", "\"x"]);
        assert_eq!(texts("\"x\\", Language::C), ["\"x\\"]);
        assert_eq!(texts("R\"(x", Language::Cpp), ["R\"(x"]);
    }

    #[test]
    fn long_statements_are_found_at_each_level() {
        let long = |text: &str| too_long(text, &lex(text, Language::C).tokens).is_some();
        assert!(long(&format!("f({});", "g(a, b) + ".repeat(6000))));
        assert!(long(&"if (a) { b; } else ".repeat(6000)));
        assert!(long(&"!".repeat(10_001)));
        assert!(!long(&"f(a + b, 1); if (a) b; else { c; } int f() { } ".repeat(6000)));
        assert!(!long(&format!("int a[] = {{ {} }};", "1 | 2, ".repeat(20_000))));
        assert!(!long(&"\"text\" ".repeat(20_000)));
        assert!(!long(&")]}".repeat(3000)));
    }

    #[test]
    fn brackets_of_different_kinds_have_no_partner() {
        let found = partners(["(", "[", "]", ")", "(", "]", "}"].into_iter());
        assert_eq!(found, [Some(3), Some(2), Some(1), Some(0), None, None, None]);
    }
}
