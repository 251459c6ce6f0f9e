-- An auction: users bid on items. For MySQL and MariaDB (InnoDB).

CREATE TABLE bidder (
    u_id       integer        NOT NULL,
    u_name     varchar(32)    NOT NULL,
    u_blocked  boolean        NOT NULL,
    u_bids     integer        NOT NULL,
    u_last_bid decimal(10, 2) NOT NULL,
    PRIMARY KEY (u_id)
) ENGINE = InnoDB;

CREATE TABLE item (
    i_id       integer        NOT NULL,
    i_name     varchar(64)    NOT NULL,
    i_closed   boolean        NOT NULL,
    i_start    decimal(10, 2) NOT NULL,
    i_max_bid  decimal(10, 2) NOT NULL,
    i_max_u_id integer,
    i_raises   integer        NOT NULL,
    PRIMARY KEY (i_id),
    FOREIGN KEY (i_max_u_id) REFERENCES bidder (u_id)
) ENGINE = InnoDB;

CREATE TABLE bid (
    b_id     bigint         NOT NULL AUTO_INCREMENT,
    b_i_id   integer        NOT NULL,
    b_u_id   integer        NOT NULL,
    b_amount decimal(10, 2) NOT NULL,
    b_date   datetime       NOT NULL,
    PRIMARY KEY (b_id),
    FOREIGN KEY (b_i_id) REFERENCES item (i_id),
    FOREIGN KEY (b_u_id) REFERENCES bidder (u_id)
) ENGINE = InnoDB;

CREATE INDEX bid_item ON bid (b_i_id, b_amount);

CREATE INDEX bid_bidder ON bid (b_u_id);
