-- TPC-C payment as a stored procedure of MariaDB, in the order of payment_text.c.
CREATE OR REPLACE PROCEDURE payment(
    a_w_id integer, a_d_id integer, a_c_w_id integer, a_c_d_id integer, a_c_id integer,
    a_c_last varchar(16), a_amount decimal(6, 2))
BEGIN
    DECLARE named integer;
    DECLARE r_w_name varchar(10);
    DECLARE r_w_street_1, r_w_street_2, r_w_city varchar(20);
    DECLARE r_w_state char(2);
    DECLARE r_w_zip char(9);
    DECLARE r_d_name varchar(10);
    DECLARE r_d_street_1, r_d_street_2, r_d_city varchar(20);
    DECLARE r_d_state char(2);
    DECLARE r_d_zip char(9);
    DECLARE r_c_id integer;
    DECLARE r_c_first, r_c_last varchar(16);
    DECLARE r_c_middle, r_c_state, r_c_credit char(2);
    DECLARE r_c_street_1, r_c_street_2, r_c_city varchar(20);
    DECLARE r_c_zip char(9);
    DECLARE r_c_phone char(16);
    DECLARE r_c_since datetime;
    DECLARE r_c_credit_lim, r_c_balance decimal(12, 2);
    DECLARE r_c_discount decimal(4, 4);
    DECLARE r_c_data, old_data varchar(500);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK;
        RESIGNAL;
    END;

    START TRANSACTION;

    UPDATE warehouse SET w_ytd = w_ytd + a_amount WHERE w_id = a_w_id;

    SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip
    INTO r_w_name, r_w_street_1, r_w_street_2, r_w_city, r_w_state, r_w_zip
    FROM warehouse WHERE w_id = a_w_id;

    UPDATE district SET d_ytd = d_ytd + a_amount WHERE d_w_id = a_w_id AND d_id = a_d_id;

    SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip
    INTO r_d_name, r_d_street_1, r_d_street_2, r_d_city, r_d_state, r_d_zip
    FROM district WHERE d_w_id = a_w_id AND d_id = a_d_id;

    -- Of several customers with the name, the one in the middle counts.
    SET r_c_id = a_c_id;
    IF a_c_id = 0 THEN
        SELECT count(*) INTO named FROM customer
        WHERE c_w_id = a_c_w_id AND c_d_id = a_c_d_id AND c_last = a_c_last;
        SET named = (named - 1) DIV 2;
        SELECT c_id INTO r_c_id FROM customer
        WHERE c_w_id = a_c_w_id AND c_d_id = a_c_d_id AND c_last = a_c_last
        ORDER BY c_first LIMIT named, 1;
    END IF;
    SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone,
        c_since, c_credit, c_credit_lim, c_discount, c_balance - a_amount, c_data
    INTO r_c_first, r_c_middle, r_c_last, r_c_street_1, r_c_street_2, r_c_city, r_c_state, r_c_zip,
        r_c_phone, r_c_since, r_c_credit, r_c_credit_lim, r_c_discount, r_c_balance, old_data
    FROM customer WHERE c_w_id = a_c_w_id AND c_d_id = a_c_d_id AND c_id = r_c_id FOR UPDATE;

    -- Bad credit: the payment is noted in the customer's data.
    SET r_c_data = '';
    IF r_c_credit = 'BC' THEN
        SET r_c_data = left(concat(r_c_id, ' ', a_c_d_id, ' ', a_c_w_id, ' ', a_d_id, ' ', a_w_id,
            ' ', a_amount, ' | ', old_data), 500);
        UPDATE customer SET c_balance = r_c_balance, c_ytd_payment = c_ytd_payment + a_amount,
            c_payment_cnt = c_payment_cnt + 1, c_data = r_c_data
        WHERE c_w_id = a_c_w_id AND c_d_id = a_c_d_id AND c_id = r_c_id;
    ELSE
        UPDATE customer SET c_balance = r_c_balance, c_ytd_payment = c_ytd_payment + a_amount,
            c_payment_cnt = c_payment_cnt + 1
        WHERE c_w_id = a_c_w_id AND c_d_id = a_c_d_id AND c_id = r_c_id;
    END IF;

    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (r_c_id, a_c_d_id, a_c_w_id, a_d_id, a_w_id, now(), a_amount,
        concat(r_w_name, '    ', r_d_name));

    COMMIT;
    SELECT r_w_name, r_w_street_1, r_w_street_2, r_w_city, r_w_state, r_w_zip, r_d_name,
        r_d_street_1, r_d_street_2, r_d_city, r_d_state, r_d_zip, r_c_id, r_c_first, r_c_middle,
        r_c_last, r_c_street_1, r_c_street_2, r_c_city, r_c_state, r_c_zip, r_c_phone, r_c_since,
        r_c_credit, r_c_credit_lim, r_c_discount, r_c_balance, r_c_data;
END
