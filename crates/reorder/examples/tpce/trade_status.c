/* TPC-E trade status over libpq, with parameters. Reads only. */
#include <stdio.h>
#include <stdlib.h>

#include <libpq-fe.h>

#include "trade_status.h"

int trade_status(PGconn *conn, const struct trade_status_input *in,
                 struct trade_status_output *out)
{
    PGresult *res;
    const char *params[1];
    char acct_id[12];

    snprintf(acct_id, sizeof acct_id, "%d", in->acct_id);
    params[0] = acct_id;

    res = PQexec(conn, "BEGIN");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);

    res = PQexecParams(conn,
                       "SELECT t_id, t_dts, st_name, tt_name, t_s_symb, t_qty, t_exec_name, "
                       "t_chrg, s_name, ex_name FROM trade "
                       "JOIN status_type ON st_id = t_st_id "
                       "JOIN trade_type ON tt_id = t_tt_id "
                       "JOIN security ON s_symb = t_s_symb "
                       "JOIN exchange ON ex_id = s_ex_id "
                       "WHERE t_ca_id = $1 ORDER BY t_dts DESC LIMIT 50",
                       1, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK)
        goto fail;
    out->num_found = PQntuples(res);
    if (out->num_found > MAX_STATUS)
        out->num_found = MAX_STATUS;
    for (int i = 0; i < out->num_found; i++) {
        out->trades[i].trade_id = atoll(PQgetvalue(res, i, 0));
        snprintf(out->trades[i].trade_dts, sizeof out->trades[i].trade_dts, "%s",
                 PQgetvalue(res, i, 1));
        snprintf(out->trades[i].status_name, sizeof out->trades[i].status_name, "%s",
                 PQgetvalue(res, i, 2));
        snprintf(out->trades[i].type_name, sizeof out->trades[i].type_name, "%s",
                 PQgetvalue(res, i, 3));
        snprintf(out->trades[i].symbol, sizeof out->trades[i].symbol, "%s",
                 PQgetvalue(res, i, 4));
        out->trades[i].trade_qty = atoi(PQgetvalue(res, i, 5));
        snprintf(out->trades[i].exec_name, sizeof out->trades[i].exec_name, "%s",
                 PQgetvalue(res, i, 6));
        out->trades[i].charge = atof(PQgetvalue(res, i, 7));
        snprintf(out->trades[i].s_name, sizeof out->trades[i].s_name, "%s",
                 PQgetvalue(res, i, 8));
        snprintf(out->trades[i].ex_name, sizeof out->trades[i].ex_name, "%s",
                 PQgetvalue(res, i, 9));
    }
    PQclear(res);

    res = PQexecParams(conn,
                       "SELECT c_l_name, c_f_name, b_name FROM customer_account "
                       "JOIN customer ON c_id = ca_c_id JOIN broker ON b_id = ca_b_id "
                       "WHERE ca_id = $1",
                       1, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
        goto fail;
    snprintf(out->cust_l_name, sizeof out->cust_l_name, "%s", PQgetvalue(res, 0, 0));
    snprintf(out->cust_f_name, sizeof out->cust_f_name, "%s", PQgetvalue(res, 0, 1));
    snprintf(out->broker_name, sizeof out->broker_name, "%s", PQgetvalue(res, 0, 2));
    PQclear(res);

    res = PQexec(conn, "COMMIT");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);
    return 0;

fail:
    fprintf(stderr, "trade status: %s", PQerrorMessage(conn));
    PQclear(res);
    PQclear(PQexec(conn, "ROLLBACK"));
    return -1;
}
