/* Different: every output. */
#define SPOIL 1
#include "shapes.c"
