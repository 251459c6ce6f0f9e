#include "check.h"

const struct condition tpcc_conditions[TPCC_CONDITIONS] = {
    { "1: w_ytd is the sum of d_ytd",
      "SELECT count(*) FROM warehouse WHERE w_ytd <> "
      "(SELECT sum(d_ytd) FROM district WHERE d_w_id = w_id)" },
    { "2: d_next_o_id - 1 is the greatest order",
      "SELECT count(*) FROM district WHERE d_next_o_id - 1 <> "
      "(SELECT max(o_id) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id)" },
    { "3: new orders have no gap",
      "SELECT count(*) FROM (SELECT 1 AS gap FROM new_order GROUP BY no_w_id, no_d_id "
      "HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)) AS gaps" },
    { "4: the sum of o_ol_cnt is the number of order lines",
      "SELECT count(*) FROM district WHERE "
      "(SELECT sum(o_ol_cnt) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id) <> "
      "(SELECT count(*) FROM order_line WHERE ol_w_id = d_w_id AND ol_d_id = d_id)" },
    { "5: an order has a carrier if and only if it is no new order",
      "SELECT count(*) FROM orders LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id "
      "AND no_o_id = o_id WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)" },
    { "8: w_ytd is the sum of h_amount",
      "SELECT count(*) FROM warehouse JOIN (SELECT h_w_id, sum(h_amount) AS paid FROM history "
      "GROUP BY h_w_id) AS payments ON h_w_id = w_id WHERE w_ytd <> paid" },
    { "9: d_ytd is the sum of h_amount",
      "SELECT count(*) FROM district JOIN (SELECT h_w_id, h_d_id, sum(h_amount) AS paid "
      "FROM history GROUP BY h_w_id, h_d_id) AS payments ON h_w_id = d_w_id AND h_d_id = d_id "
      "WHERE d_ytd <> paid" },
    { "12: the payments of a customer are the sum of h_amount and number c_payment_cnt",
      "SELECT count(*) FROM customer JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, "
      "sum(h_amount) AS paid, count(*) AS payments FROM history "
      "GROUP BY h_c_w_id, h_c_d_id, h_c_id) AS payments ON h_c_w_id = c_w_id "
      "AND h_c_d_id = c_d_id AND h_c_id = c_id "
      "WHERE c_ytd_payment <> paid OR c_payment_cnt <> payments" },
    { "12: c_balance is what was delivered less what was paid",
      "SELECT count(*) FROM customer LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, "
      "sum(ol_amount) AS delivered FROM orders JOIN order_line ON ol_w_id = o_w_id "
      "AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE ol_delivery_d IS NOT NULL "
      "GROUP BY o_w_id, o_d_id, o_c_id) AS deliveries ON o_w_id = c_w_id AND o_d_id = c_d_id "
      "AND o_c_id = c_id WHERE c_balance + c_ytd_payment <> coalesce(delivered, 0)" },
};
