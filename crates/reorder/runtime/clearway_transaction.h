/* Marks of a transaction for `clearway reorder`. A compiler sees nothing. */

#ifndef CLEARWAY_TRANSACTION_H
#define CLEARWAY_TRANSACTION_H

#define BEGIN_TRANSACTION
#define END_TRANSACTION

#endif
