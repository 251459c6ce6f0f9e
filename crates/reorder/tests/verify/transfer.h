/* What the transfers of all interfaces have in common. */
struct transfer {
    int account;
    int amount;
    int balance;
    char name[21];
};
