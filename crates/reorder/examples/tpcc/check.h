/* TPC-C: the consistency conditions of the database (specification, clause 3.3.2). */
#ifndef TPCC_CHECK_H
#define TPCC_CHECK_H

#include "../workload.h"

#define TPCC_CONDITIONS 9

extern const struct condition tpcc_conditions[TPCC_CONDITIONS];

#endif
