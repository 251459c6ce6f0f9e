-- TPC-C payment as a stored function of PostgreSQL, in the order that `clearway reorder` gives
-- payment_params.c.
CREATE OR REPLACE FUNCTION payment(
    a_w_id integer, a_d_id integer, a_c_w_id integer, a_c_d_id integer, a_c_id integer,
    a_c_last varchar, a_amount numeric,
    OUT r_w_name varchar, OUT r_w_street_1 varchar, OUT r_w_street_2 varchar, OUT r_w_city varchar,
    OUT r_w_state char, OUT r_w_zip char, OUT r_d_name varchar, OUT r_d_street_1 varchar,
    OUT r_d_street_2 varchar, OUT r_d_city varchar, OUT r_d_state char, OUT r_d_zip char,
    OUT r_c_id integer, OUT r_c_first varchar, OUT r_c_middle char, OUT r_c_last varchar,
    OUT r_c_street_1 varchar, OUT r_c_street_2 varchar, OUT r_c_city varchar, OUT r_c_state char,
    OUT r_c_zip char, OUT r_c_phone char, OUT r_c_since timestamp, OUT r_c_credit char,
    OUT r_c_credit_lim numeric, OUT r_c_discount numeric, OUT r_c_balance numeric,
    OUT r_c_data varchar)
LANGUAGE plpgsql AS $$
DECLARE
    named integer;
    old_data varchar;
BEGIN
    SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip
    INTO STRICT r_w_name, r_w_street_1, r_w_street_2, r_w_city, r_w_state, r_w_zip
    FROM warehouse WHERE w_id = a_w_id;

    SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip
    INTO STRICT r_d_name, r_d_street_1, r_d_street_2, r_d_city, r_d_state, r_d_zip
    FROM district WHERE d_w_id = a_w_id AND d_id = a_d_id;

    -- Of several customers with the name, the one in the middle counts.
    r_c_id := a_c_id;
    IF a_c_id = 0 THEN
        SELECT count(*) INTO named FROM customer
        WHERE c_w_id = a_c_w_id AND c_d_id = a_c_d_id AND c_last = a_c_last;
        SELECT c_id INTO STRICT r_c_id FROM customer
        WHERE c_w_id = a_c_w_id AND c_d_id = a_c_d_id AND c_last = a_c_last
        ORDER BY c_first OFFSET (named - 1) / 2 LIMIT 1;
    END IF;
    SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone,
        c_since, c_credit, c_credit_lim, c_discount, c_balance - a_amount, c_data
    INTO STRICT r_c_first, r_c_middle, r_c_last, r_c_street_1, r_c_street_2, r_c_city, r_c_state,
        r_c_zip, r_c_phone, r_c_since, r_c_credit, r_c_credit_lim, r_c_discount, r_c_balance,
        old_data
    FROM customer WHERE c_w_id = a_c_w_id AND c_d_id = a_c_d_id AND c_id = r_c_id FOR UPDATE;

    -- Bad credit: the payment is noted in the customer's data.
    r_c_data := '';
    IF r_c_credit = 'BC' THEN
        r_c_data := left(concat(r_c_id, ' ', a_c_d_id, ' ', a_c_w_id, ' ', a_d_id, ' ', a_w_id,
            ' ', a_amount, ' | ', old_data), 500);
        UPDATE customer SET c_balance = r_c_balance, c_ytd_payment = c_ytd_payment + a_amount,
            c_payment_cnt = c_payment_cnt + 1, c_data = r_c_data
        WHERE c_w_id = a_c_w_id AND c_d_id = a_c_d_id AND c_id = r_c_id;
    ELSE
        UPDATE customer SET c_balance = r_c_balance, c_ytd_payment = c_ytd_payment + a_amount,
            c_payment_cnt = c_payment_cnt + 1
        WHERE c_w_id = a_c_w_id AND c_d_id = a_c_d_id AND c_id = r_c_id;
    END IF;

    UPDATE district SET d_ytd = d_ytd + a_amount WHERE d_w_id = a_w_id AND d_id = a_d_id;

    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (r_c_id, a_c_d_id, a_c_w_id, a_d_id, a_w_id, now(), a_amount,
        concat(r_w_name, '    ', r_d_name));

    UPDATE warehouse SET w_ytd = w_ytd + a_amount WHERE w_id = a_w_id;
END
$$
