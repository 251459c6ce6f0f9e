CREATE TABLE bank (
    b_id INTEGER PRIMARY KEY,
    b_total INTEGER NOT NULL
);
CREATE TABLE account (
    a_id INTEGER PRIMARY KEY,
    a_bank INTEGER NOT NULL REFERENCES bank (b_id),
    a_balance INTEGER NOT NULL,
    a_state INTEGER NOT NULL,
    a_name VARCHAR(20) NOT NULL
);
CREATE TABLE entry (
    e_account INTEGER NOT NULL,
    e_amount INTEGER NOT NULL
);
