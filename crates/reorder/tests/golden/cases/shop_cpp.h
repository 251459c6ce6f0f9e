/* Overloads of functions and a class that a file defines a part of. */
#ifndef SHOP_CPP_H
#define SHOP_CPP_H

#include "shop.h"

/* Counts an amount in the region; defined elsewhere. */
int count(db *connection, long amount);

/* The same for each region; specialized for some types. */
template <typename Number> int count_all(db *connection, Number amount)
{
    return count(connection, static_cast<long>(amount));
}

/* Notes how long it lives; defined elsewhere. The model has its constructor only. */
class Watch {
public:
    explicit Watch(long at);
    ~Watch();
};

/* Notes where it ends; defined elsewhere. */
struct Ledger {
    db *to;
    ~Ledger();
};

/* A shop, whose methods several files define. */
class Register {
public:
    explicit Register(db *connection) : db_(connection) {}
    int pay(int amount);
    int note(int amount);
    int note(long amount);

private:
    db *db_;
};

#endif
