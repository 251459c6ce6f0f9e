/* TPC-C: random numbers and names (specification, clauses 2.1.6 and 4.3.2). */
#ifndef TPCC_RANDOM_H
#define TPCC_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct random {
    uint64_t state;
};

/* Starts a sequence; different seeds give different ones. */
void random_seed(struct random *random, uint64_t seed);

/* Returns a number from low to high, both included. */
int uniform(struct random *random, int low, int high);

/* Returns a number from low to high by the specification's NURand: a is 255 for last names, 1023
 * for customers, and 8191 for items. */
int nurand(struct random *random, int a, int low, int high);

/* Writes between low and high letters and digits, and a terminating null, to text. */
void random_text(struct random *random, char *text, int low, int high);

/* Writes the last name of a number from 0 to 999; it has at most 16 characters. */
void last_name(char name[17], int number);

#endif
