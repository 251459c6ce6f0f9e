/* TPC-E: the names and numbers of the initial population, for the loader and the driver. */
#ifndef TPCE_POPULATION_H
#define TPCE_POPULATION_H

#include <stdio.h>

#define SYMBOLS 10          /* in which an account trades */

/* Two accounts belong to each customer, and two securities to each company. */
static inline int customer_of(int account)
{
    return (account + 1) / 2;
}

static inline int company_of(int security)
{
    return (security + 1) / 2;
}

static inline const char *issue_of(int security)
{
    return security % 2 == 1 ? "COMMON" : "PREF_A";
}

/* Returns the number of an account's security: index is from 0 to SYMBOLS - 1. */
static inline int security_of(int account, int index, int securities)
{
    return (account * 7 + index) % securities + 1;
}

static inline void symbol_name(char symbol[16], int security)
{
    snprintf(symbol, 16, "SYM%05d", security);
}

static inline void company_name(char name[61], int company)
{
    snprintf(name, 61, "Company %d", company);
}

/* Writes the names and the tax number of a customer. */
static inline void customer_names(char first[21], char last[26], char tax_id[21], int customer)
{
    snprintf(first, 21, "Anna%d", customer % 97);
    snprintf(last, 26, "Customer%d", customer);
    snprintf(tax_id, 21, "CUS%d", customer);
}

/* Writes the names and the tax number of the person who may order for an account. */
static inline void agent_names(char first[21], char last[26], char tax_id[21], int account)
{
    snprintf(first, 21, "Otto%d", account % 89);
    snprintf(last, 26, "Agent%d", account);
    snprintf(tax_id, 21, "AGT%d", account);
}

#endif
