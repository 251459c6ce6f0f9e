/* What the files of the libpq mock share. */
#ifndef MOCK_LIBPQ_H
#define MOCK_LIBPQ_H

#include "mock_core.h"

#include <libpq-fe.h>

/* Makes a result that the program clears. */
PGresult *mock_result_of(struct mockdb_result *answer);

#endif
