-- TPC-E, cut down to the tables and columns that trade order, trade result, trade update and trade
-- status need, for MySQL and MariaDB (InnoDB).

CREATE TABLE exchange (
    ex_id   char(6)      NOT NULL,
    ex_name varchar(100) NOT NULL,
    PRIMARY KEY (ex_id)
) ENGINE = InnoDB;

CREATE TABLE status_type (
    st_id   char(4)     NOT NULL,
    st_name varchar(10) NOT NULL,
    PRIMARY KEY (st_id)
) ENGINE = InnoDB;

CREATE TABLE trade_type (
    tt_id      char(3)     NOT NULL,
    tt_name    varchar(12) NOT NULL,
    tt_is_sell boolean     NOT NULL,
    tt_is_mrkt boolean     NOT NULL,
    PRIMARY KEY (tt_id)
) ENGINE = InnoDB;

CREATE TABLE taxrate (
    tx_id   char(4)       NOT NULL,
    tx_name varchar(50)   NOT NULL,
    tx_rate decimal(6, 5) NOT NULL,
    PRIMARY KEY (tx_id)
) ENGINE = InnoDB;

CREATE TABLE customer (
    c_id     integer     NOT NULL,
    c_tax_id varchar(20) NOT NULL,
    c_l_name varchar(25) NOT NULL,
    c_f_name varchar(20) NOT NULL,
    c_tier   smallint    NOT NULL,
    PRIMARY KEY (c_id)
) ENGINE = InnoDB;

CREATE TABLE customer_taxrate (
    cx_tx_id char(4) NOT NULL,
    cx_c_id  integer NOT NULL,
    PRIMARY KEY (cx_c_id, cx_tx_id),
    FOREIGN KEY (cx_tx_id) REFERENCES taxrate (tx_id),
    FOREIGN KEY (cx_c_id) REFERENCES customer (c_id)
) ENGINE = InnoDB;

CREATE TABLE broker (
    b_id         integer        NOT NULL,
    b_name       varchar(49)    NOT NULL,
    b_num_trades integer        NOT NULL,
    b_comm_total decimal(12, 2) NOT NULL,
    PRIMARY KEY (b_id)
) ENGINE = InnoDB;

CREATE TABLE customer_account (
    ca_id     integer        NOT NULL,
    ca_b_id   integer        NOT NULL,
    ca_c_id   integer        NOT NULL,
    ca_name   varchar(50)    NOT NULL,
    ca_tax_st smallint       NOT NULL,
    ca_bal    decimal(12, 2) NOT NULL,
    PRIMARY KEY (ca_id),
    FOREIGN KEY (ca_b_id) REFERENCES broker (b_id),
    FOREIGN KEY (ca_c_id) REFERENCES customer (c_id)
) ENGINE = InnoDB;

CREATE TABLE account_permission (
    ap_ca_id  integer     NOT NULL,
    ap_acl    char(4)     NOT NULL,
    ap_tax_id varchar(20) NOT NULL,
    ap_l_name varchar(25) NOT NULL,
    ap_f_name varchar(20) NOT NULL,
    PRIMARY KEY (ap_ca_id, ap_tax_id),
    FOREIGN KEY (ap_ca_id) REFERENCES customer_account (ca_id)
) ENGINE = InnoDB;

CREATE TABLE company (
    co_id   integer     NOT NULL,
    co_name varchar(60) NOT NULL,
    PRIMARY KEY (co_id),
    UNIQUE (co_name)
) ENGINE = InnoDB;

CREATE TABLE security (
    s_symb  varchar(15) NOT NULL,
    s_issue char(6)     NOT NULL,
    s_name  varchar(70) NOT NULL,
    s_ex_id char(6)     NOT NULL,
    s_co_id integer     NOT NULL,
    PRIMARY KEY (s_symb),
    UNIQUE (s_co_id, s_issue),
    FOREIGN KEY (s_ex_id) REFERENCES exchange (ex_id),
    FOREIGN KEY (s_co_id) REFERENCES company (co_id)
) ENGINE = InnoDB;

CREATE TABLE last_trade (
    lt_s_symb varchar(15)   NOT NULL,
    lt_dts    datetime      NOT NULL,
    lt_price  decimal(8, 2) NOT NULL,
    lt_vol    bigint        NOT NULL,
    PRIMARY KEY (lt_s_symb),
    FOREIGN KEY (lt_s_symb) REFERENCES security (s_symb)
) ENGINE = InnoDB;

CREATE TABLE commission_rate (
    cr_c_tier   smallint      NOT NULL,
    cr_tt_id    char(3)       NOT NULL,
    cr_ex_id    char(6)       NOT NULL,
    cr_from_qty integer       NOT NULL,
    cr_to_qty   integer       NOT NULL,
    cr_rate     decimal(5, 2) NOT NULL,
    PRIMARY KEY (cr_c_tier, cr_tt_id, cr_ex_id, cr_from_qty),
    FOREIGN KEY (cr_tt_id) REFERENCES trade_type (tt_id),
    FOREIGN KEY (cr_ex_id) REFERENCES exchange (ex_id)
) ENGINE = InnoDB;

CREATE TABLE charge (
    ch_tt_id  char(3)        NOT NULL,
    ch_c_tier smallint       NOT NULL,
    ch_chrg   decimal(10, 2) NOT NULL,
    PRIMARY KEY (ch_tt_id, ch_c_tier),
    FOREIGN KEY (ch_tt_id) REFERENCES trade_type (tt_id)
) ENGINE = InnoDB;

CREATE TABLE trade (
    t_id          bigint         NOT NULL AUTO_INCREMENT,
    t_dts         datetime       NOT NULL,
    t_st_id       char(4)        NOT NULL,
    t_tt_id       char(3)        NOT NULL,
    t_is_cash     boolean        NOT NULL,
    t_s_symb      varchar(15)    NOT NULL,
    t_qty         integer        NOT NULL,
    t_bid_price   decimal(8, 2)  NOT NULL,
    t_ca_id       integer        NOT NULL,
    t_exec_name   varchar(64)    NOT NULL,
    t_trade_price decimal(8, 2),
    t_chrg        decimal(10, 2) NOT NULL,
    t_comm        decimal(10, 2) NOT NULL,
    t_tax         decimal(10, 2) NOT NULL,
    t_lifo        boolean        NOT NULL,
    PRIMARY KEY (t_id),
    FOREIGN KEY (t_st_id) REFERENCES status_type (st_id),
    FOREIGN KEY (t_tt_id) REFERENCES trade_type (tt_id),
    FOREIGN KEY (t_s_symb) REFERENCES security (s_symb),
    FOREIGN KEY (t_ca_id) REFERENCES customer_account (ca_id)
) ENGINE = InnoDB;

CREATE INDEX trade_account ON trade (t_ca_id, t_dts);

CREATE TABLE trade_request (
    tr_t_id      bigint        NOT NULL,
    tr_tt_id     char(3)       NOT NULL,
    tr_s_symb    varchar(15)   NOT NULL,
    tr_qty       integer       NOT NULL,
    tr_bid_price decimal(8, 2) NOT NULL,
    tr_b_id      integer       NOT NULL,
    PRIMARY KEY (tr_t_id),
    FOREIGN KEY (tr_t_id) REFERENCES trade (t_id),
    FOREIGN KEY (tr_tt_id) REFERENCES trade_type (tt_id),
    FOREIGN KEY (tr_s_symb) REFERENCES security (s_symb),
    FOREIGN KEY (tr_b_id) REFERENCES broker (b_id)
) ENGINE = InnoDB;

CREATE TABLE trade_history (
    th_t_id  bigint   NOT NULL,
    th_dts   datetime NOT NULL,
    th_st_id char(4)  NOT NULL,
    PRIMARY KEY (th_t_id, th_st_id),
    FOREIGN KEY (th_t_id) REFERENCES trade (t_id),
    FOREIGN KEY (th_st_id) REFERENCES status_type (st_id)
) ENGINE = InnoDB;

CREATE TABLE settlement (
    se_t_id          bigint         NOT NULL,
    se_cash_type     varchar(40)    NOT NULL,
    se_cash_due_date date           NOT NULL,
    se_amt           decimal(10, 2) NOT NULL,
    PRIMARY KEY (se_t_id),
    FOREIGN KEY (se_t_id) REFERENCES trade (t_id)
) ENGINE = InnoDB;

CREATE TABLE cash_transaction (
    ct_t_id bigint         NOT NULL,
    ct_dts  datetime       NOT NULL,
    ct_amt  decimal(10, 2) NOT NULL,
    ct_name varchar(100)   NOT NULL,
    PRIMARY KEY (ct_t_id),
    FOREIGN KEY (ct_t_id) REFERENCES trade (t_id)
) ENGINE = InnoDB;

CREATE TABLE holding_summary (
    hs_ca_id  integer     NOT NULL,
    hs_s_symb varchar(15) NOT NULL,
    hs_qty    integer     NOT NULL,
    PRIMARY KEY (hs_ca_id, hs_s_symb),
    FOREIGN KEY (hs_ca_id) REFERENCES customer_account (ca_id),
    FOREIGN KEY (hs_s_symb) REFERENCES security (s_symb)
) ENGINE = InnoDB;

CREATE TABLE holding (
    h_t_id   bigint        NOT NULL,
    h_ca_id  integer       NOT NULL,
    h_s_symb varchar(15)   NOT NULL,
    h_dts    datetime      NOT NULL,
    h_price  decimal(8, 2) NOT NULL,
    h_qty    integer       NOT NULL,
    PRIMARY KEY (h_t_id),
    FOREIGN KEY (h_t_id) REFERENCES trade (t_id),
    FOREIGN KEY (h_ca_id, h_s_symb) REFERENCES holding_summary (hs_ca_id, hs_s_symb)
) ENGINE = InnoDB;

CREATE INDEX holding_account ON holding (h_ca_id, h_s_symb, h_dts);

CREATE TABLE holding_history (
    hh_h_t_id     bigint  NOT NULL,
    hh_t_id       bigint  NOT NULL,
    hh_before_qty integer NOT NULL,
    hh_after_qty  integer NOT NULL,
    PRIMARY KEY (hh_h_t_id, hh_t_id),
    FOREIGN KEY (hh_h_t_id) REFERENCES trade (t_id),
    FOREIGN KEY (hh_t_id) REFERENCES trade (t_id)
) ENGINE = InnoDB;
