/* A function with parameters of all the shapes of which inputs are made. SPOIL is a number that the
 * rewritten program adds to each output. */
#include <stdio.h>
#include <string.h>

#include <libpq-fe.h>

#ifndef SPOIL
#define SPOIL 0
#endif

enum color { RED, GREEN, BLUE };

typedef struct {
    double price;
    char code[8];
    short stock[2];
} line_t;

union number {
    long whole;
    double real;
};

struct order {
    unsigned long id;
    enum color color;
    line_t lines[3];
    const char *note;
    char *remark;
    line_t *first;
    struct order *next;
    PGconn *connection;
    void *user_data;
    union number number;
    unsigned char state : 3;
};

static PGconn *shared;
int calls;

const char *shape(const struct order *order, struct order *other, line_t line, float *rate,
                  char *buffer, const char *const *names, int count, FILE *stream)
{
    PGresult *result = PQexec(other->connection, "SELECT 1");
    PQclear(result);
    PQclear(PQexec(shared, "SELECT 2"));
    calls += 1 + SPOIL;
    other->lines[2].stock[1] = (short)(order->lines[1].stock[0] + line.stock[0] + SPOIL);
    other->next->first->price += 1.5 + SPOIL;
    other->number.whole = (long)order->id + SPOIL;
    other->state = 5 + SPOIL;
    *rate = 0.25F + SPOIL;
    snprintf(buffer, 32, SPOIL ? "%s+%s" : "%s-%s", order->note, names[count - 1]);
    strcpy(other->remark, SPOIL ? "left" : "done");
    other->lines[0].code[0] = (char)('a' + SPOIL);
    fputs("shaped\n", stream);
    return order->user_data == NULL && !SPOIL ? other->remark : NULL;
}
