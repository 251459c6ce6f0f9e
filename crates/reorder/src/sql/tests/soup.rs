//! Random texts: the analysis and the reader of the schema answer or refuse, and never panic.

use clearway_testkit::Random;

use super::*;

const SERVERS: [Server; 3] = [Server::Postgresql, Server::Mysql, Server::Sqlite];

/// Texts whose words the random texts use.
const TEXTS: &[&str] = &[
    "SELECT DISTINCT s . * , count ( * ) FROM stock AS s LEFT JOIN item i ON s_i = i . i_id",
    "WHERE s_w IN ( 1 , 2 ) AND NOT EXISTS ( SELECT 1 FROM cheap c WHERE c . i_id = s_i )",
    "GROUP BY s_w HAVING sum ( s_quantity ) > ? ORDER BY 1 DESC LIMIT 1 OFFSET 2 FOR UPDATE OF s",
    "NOWAIT ; SKIP LOCKED FOR NO KEY UPDATE LOCK IN SHARE MODE FETCH FIRST 1 ROW ONLY",
    "WITH RECURSIVE a ( x ) AS ( VALUES ( $1 ) ) UPDATE stock SET s_data = 'x' , s_i = DEFAULT",
    "INSERT IGNORE INTO item ( i_id , i_price ) VALUES ( $1 , :n ) , ( ROW ( 1 ) ) RETURNING *",
    "ON CONFLICT ( i_id ) DO UPDATE SET i_price = excluded . i_price DO NOTHING OR REPLACE",
    "ON DUPLICATE KEY UPDATE i_price = VALUES ( i_price ) USING LATERAL NATURAL CROSS JOIN",
    "DELETE FROM ONLY public . item TABLE item UNION ALL INTERSECT EXCEPT AS MATERIALIZED",
    "CREATE TABLE OR REPLACE TEMPORARY t ( a integer PRIMARY KEY , b serial NOT NULL UNIQUE )",
    "CREATE UNIQUE INDEX ON t ( a , lower ( b ) ) WHERE b ; CREATE VIEW v AS SELECT a FROM t ;",
    "CREATE TRIGGER g AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION f ( ) ; BEGIN END CASE",
    "CREATE FUNCTION f ( ) RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE t ; END $$ ;",
    "ALTER TABLE ONLY t ADD CONSTRAINT c FOREIGN KEY ( a ) REFERENCES t ( a ) ON DELETE CASCADE",
    "CREATE RULE r AS ON UPDATE TO t DO INSTEAD ( DELETE FROM t ; ) CHECK ( a > 0 ) LIKE t",
    "DROP VIEW IF EXISTS v , t ATTACH PARTITION OF INHERITS GENERATED ALWAYS AS IDENTITY STORED",
    "' \" ` [ ] $1 $$ $a$ ?2 @v @ :: -> ->> /* */ /*!50000 -- # \\ é 𝒳 \u{0}",
    "1e9 0x 1.5 + - * / % = <> || ! ~ && ^ { } & |",
    "DELIMITER // USE db SET search_path = a COPY t FROM stdin ; \\. \n . : ; ; ( ( ) ) , ,",
];

/// Returns a text of random words; sometimes the beginning is that of a statement.
fn soup(random: &mut Random) -> String {
    let words: Vec<&str> = TEXTS.iter().flat_map(|text| text.split(' ')).collect();
    let mut text = String::new();
    if random.one_in(2) {
        text += random.pick(TEXTS);
    }
    for _ in 0..random.below(25) {
        text += random.pick(&[" ", " ", " ", "\n", ""]);
        text += random.pick(&words);
    }
    text
}

/// Returns a statement in which a few words are left out, doubled, exchanged or replaced.
fn mutant(random: &mut Random) -> String {
    const STATEMENTS: &[&str] = &[
        "WITH a AS ( SELECT s_i FROM stock WHERE s_w = $1 FOR UPDATE OF stock ) \
         UPDATE item SET i_price = i_price + 1 FROM a WHERE i_id = a . s_i RETURNING i_id",
        "INSERT INTO item ( i_id , i_price ) SELECT s_i , max ( s_quantity ) FROM stock AS s \
         GROUP BY s_i ON CONFLICT ( i_id ) DO UPDATE SET i_price = excluded . i_price",
        "SELECT s . s_data FROM stock s JOIN ( item CROSS JOIN cheap ) ON s_i = i_id , item AS j \
         WHERE ( s_w , s_i ) = ( 1 , 2 ) AND s_i IN ( SELECT i_id FROM cheap ) LIMIT 1",
        "CREATE TABLE t ( a integer NOT NULL , b serial , PRIMARY KEY ( a , b ) , \
         CONSTRAINT c FOREIGN KEY ( a ) REFERENCES item ( i_id ) ON DELETE CASCADE ) ;",
        "CREATE TABLE t ( a int ) ; CREATE TRIGGER g BEFORE UPDATE OF a ON t FOR EACH ROW \
         BEGIN UPDATE item SET i_price = 1 ; END ; CREATE VIEW v AS SELECT * FROM t ;",
    ];
    let mut words: Vec<&str> = random.pick(STATEMENTS).split(' ').collect();
    for _ in 0..random.between(1, 4) {
        let at = random.below(words.len() as u64) as usize;
        let other = random.below(words.len() as u64) as usize;
        match random.below(4) {
            0 if words.len() > 1 => drop(words.remove(at)),
            1 => words.insert(at, words[other]),
            2 => words.swap(at, other),
            _ => words[at] = words[other],
        }
    }
    words.join(" ")
}

/// Returns true if an error says what to do.
fn has_remedy(message: &str) -> bool {
    let remedies =
        ["correct the SQL", "write ", "split it", "dump the schema", "put its DDL first"];
    remedies.iter().any(|remedy| message.contains(remedy)) || message.contains("leave out")
}

/// Analyses a text as a query and as a schema, and checks what the answers have in common. Returns
/// the number of answers that are no errors.
fn try_all(text: &str) -> usize {
    let mut answers = 0;
    for server in SERVERS {
        match analyze(text, server, &shop(server)) {
            Ok(query) => {
                answers += 1;
                let changes = query.tables.values().any(|access| {
                    access.inserts || access.deletes || access.locks || !access.writes.is_empty()
                });
                assert!(!changes || query.kind == QueryKind::Write, "{text}: {query:?}");
                let numbers = query.tables.values().flat_map(|access| access.equal.values());
                for value in numbers {
                    let known = |number: &usize| *number < query.parameters;
                    assert!(!matches!(value, Value::Parameter(n) if !known(n)), "{text}");
                }
            }
            Err(bad) => {
                assert!(has_remedy(&bad.message), "{text}: {bad}");
                assert!(bad.line <= text.lines().count().max(1) + 1, "{text}: {bad}");
            }
        }
        match schema::parse(text, server) {
            Ok(_) => answers += 1,
            Err(bad) => {
                assert!(has_remedy(&bad.message), "{text}: {bad}");
                assert!((1..=text.lines().count()).contains(&bad.line), "{text}: {bad}");
            }
        }
    }
    answers
}

#[test]
fn random_words_never_panic() {
    let mut random = Random::new(15);
    let answers: usize = (0..3_000).map(|_| try_all(&soup(&mut random))).sum();
    assert!(answers > 500, "{answers}");
}

#[test]
fn statements_with_misplaced_words_never_panic() {
    let mut random = Random::new(16);
    let answers: usize = (0..3_000).map(|_| try_all(&mutant(&mut random))).sum();
    assert!(answers > 3_000, "{answers}");
}

#[test]
fn every_beginning_of_a_text_is_answered() {
    let text = TEXTS.join("\n");
    let ends = text.char_indices().map(|(at, _)| at);
    let answers: usize = ends.map(|end| try_all(&text[..end])).sum();
    assert!(answers > 0);
}
