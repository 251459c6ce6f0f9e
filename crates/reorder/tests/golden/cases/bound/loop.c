// Another function binds the parameters of both statements to fields that each iteration sets. The
// loop is not split in front of the statements that set them.
// api: mysql
// function: move
// splits: yes
// expect: unchanged
#include <string.h>
#include <mysql.h>

struct line {
    int item;
    int units;
};

struct mover {
    MYSQL *db;
    MYSQL_STMT *change;
    MYSQL_STMT *insert;
    int shop, item, units;
};

static void bind_int(MYSQL_BIND *bind, int *value)
{
    memset(bind, 0, sizeof *bind);
    bind->buffer_type = MYSQL_TYPE_LONG;
    bind->buffer = value;
}

static MYSQL_STMT *prepare(MYSQL *db, const char *sql)
{
    MYSQL_STMT *stmt = mysql_stmt_init(db);

    if (stmt != NULL && mysql_stmt_prepare(stmt, sql, strlen(sql)) != 0) {
        mysql_stmt_close(stmt);
        return NULL;
    }
    return stmt;
}

int mover_open(struct mover *mover)
{
    MYSQL_BIND bind[3];

    mover->change = prepare(mover->db, "UPDATE shop SET s_total = s_total + ? WHERE s_id = ?");
    mover->insert = prepare(mover->db, "INSERT INTO sale VALUES (?, ?, ?, 'x')");
    if (mover->change == NULL || mover->insert == NULL)
        return -1;
    bind_int(&bind[0], &mover->units);
    bind_int(&bind[1], &mover->shop);
    if (mysql_stmt_bind_param(mover->change, bind) != 0)
        return -1;
    bind_int(&bind[0], &mover->item);
    bind_int(&bind[1], &mover->item);
    bind_int(&bind[2], &mover->units);
    return mysql_stmt_bind_param(mover->insert, bind);
}

int move(struct mover *mover, const struct line *lines, int n)
{
    if (mysql_query(mover->db, "START TRANSACTION") != 0)
        return -1;
    for (int i = 0; i < n; i++) {
        mover->item = lines[i].item;
        mover->units = lines[i].units;
        mover->shop = 1;
        if (mysql_stmt_execute(mover->change) != 0)
            goto undo;
        if (mysql_stmt_execute(mover->insert) != 0)
            goto undo;
    }
    if (mysql_query(mover->db, "COMMIT") == 0)
        return 0;
undo:
    mysql_query(mover->db, "ROLLBACK");
    return -1;
}
