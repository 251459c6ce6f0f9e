/* Variables that the macros of this header use. */
#ifndef COUNTERS_H
#define COUNTERS_H

extern long sorted_next;

#define AMOUNT (sorted_next + 1)

#endif
