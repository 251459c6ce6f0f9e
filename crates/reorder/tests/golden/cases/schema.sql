-- The tables of all cases. The more tables refer to a table, the heavier is the lock of one of its
-- rows: region (3), shop (2), customer and item (0), sale (an insert, the lightest).
CREATE TABLE region (
    r_id INTEGER PRIMARY KEY,
    r_name VARCHAR(30) NOT NULL,
    r_total INTEGER NOT NULL,
    r_count INTEGER NOT NULL
);
CREATE TABLE shop (
    s_id INTEGER PRIMARY KEY,
    s_region INTEGER NOT NULL REFERENCES region (r_id),
    s_name VARCHAR(30) NOT NULL,
    s_total INTEGER NOT NULL,
    s_count INTEGER NOT NULL
);
CREATE TABLE customer (
    c_id INTEGER PRIMARY KEY,
    c_shop INTEGER NOT NULL REFERENCES shop (s_id),
    c_name VARCHAR(30) NOT NULL,
    c_email VARCHAR(30) NOT NULL UNIQUE,
    c_balance INTEGER NOT NULL,
    c_visits INTEGER NOT NULL
);
CREATE TABLE item (
    i_id INTEGER PRIMARY KEY,
    i_shop INTEGER NOT NULL REFERENCES shop (s_id),
    i_name VARCHAR(30) NOT NULL,
    i_price INTEGER NOT NULL,
    i_stock INTEGER NOT NULL
);
CREATE TABLE sale (
    x_item INTEGER NOT NULL,
    x_customer INTEGER NOT NULL,
    x_amount INTEGER NOT NULL,
    x_note VARCHAR(60)
);
CREATE TABLE log (
    l_text VARCHAR(60) NOT NULL
);
