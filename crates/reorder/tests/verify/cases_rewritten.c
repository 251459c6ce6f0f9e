/* The functions of cases.c after the reordering. */
#define REWRITTEN
#include "cases.c"
