/*
 * The clocks, the waits and the sources of random numbers of the program under test.
 *
 * The answer to a call depends on the seed, on the number of transactions that have begun, and on
 * the number of calls since the last one began. So both programs receive the same values, also
 * after an attempt that one of them has given up earlier. Each call takes a second, each transaction
 * a minute; a wait takes no real time. The functions are weak: those of the program come first.
 */
#define _GNU_SOURCE

#include "mock_core.h"
#include "mock_input.h"

#include <stdlib.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define WEAK __attribute__((weak))

enum { NANOS = 1000000000, TRANSACTION = 60 };

static int64_t latest, waited;
static unsigned calls, epoch;

/* Returns the nanoseconds since 1970 at the next call. */
static int64_t tick(void)
{
    int64_t start = (1600000000 + (int64_t)(mockdb_seed() % 1000) * 86400) * NANOS;
    if (epoch != mockdb_transactions()) {
        epoch = mockdb_transactions();
        calls = 0;
    }
    int64_t seconds = (int64_t)epoch * TRANSACTION + ++calls;
    int64_t now = start + waited + seconds * NANOS + seconds % 1000 * 1000100;
    latest = now > latest ? now : latest;
    return latest;
}

static void wait_for(int64_t nanos)
{
    waited += nanos > 0 ? nanos : 0;
}

void mockdb_start_clock(void)
{
    unsigned seed = (unsigned)mockdb_seed() + 1;
    srand(seed);
    srandom(seed);
    srand48((long)seed);
}

WEAK time_t time(time_t *at)
{
    time_t now = (time_t)(tick() / NANOS);
    if (at != NULL)
        *at = now;
    return now;
}

WEAK int gettimeofday(struct timeval *restrict at, void *restrict zone)
{
    int64_t now = tick();
    (void)zone;
    at->tv_sec = (time_t)(now / NANOS);
    at->tv_usec = (suseconds_t)(now % NANOS / 1000);
    return 0;
}

WEAK int clock_gettime(clockid_t clock, struct timespec *at)
{
    (void)clock;
    int64_t now = tick();
    at->tv_sec = (time_t)(now / NANOS);
    at->tv_nsec = (long)(now % NANOS);
    return 0;
}

WEAK int timespec_get(struct timespec *at, int base)
{
    clock_gettime(CLOCK_REALTIME, at);
    return base;
}

WEAK clock_t clock(void)
{
    return (clock_t)(tick() / 1000 % 1000000000);
}

WEAK unsigned sleep(unsigned seconds)
{
    wait_for((int64_t)seconds * NANOS);
    return 0;
}

WEAK int usleep(useconds_t micros)
{
    wait_for((int64_t)micros * 1000);
    return 0;
}

WEAK int nanosleep(const struct timespec *span, struct timespec *rest)
{
    wait_for((int64_t)span->tv_sec * NANOS + span->tv_nsec);
    if (rest != NULL)
        rest->tv_sec = rest->tv_nsec = 0;
    return 0;
}

WEAK int clock_nanosleep(clockid_t clock, int flags, const struct timespec *span,
                         struct timespec *rest)
{
    int64_t nanos = (int64_t)span->tv_sec * NANOS + span->tv_nsec;
    (void)clock;
    if (flags == TIMER_ABSTIME)
        wait_for(nanos - latest);
    else
        nanosleep(span, rest);
    return 0;
}

WEAK ssize_t getrandom(void *to, size_t size, unsigned flags)
{
    uint64_t state = (uint64_t)tick();
    unsigned char *bytes = to;
    (void)flags;
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)mockdb_random(&state, 256);
    return (ssize_t)size;
}

WEAK int getentropy(void *to, size_t size)
{
    getrandom(to, size, 0);
    return 0;
}

WEAK uint32_t arc4random(void)
{
    uint32_t number;
    getrandom(&number, sizeof number, 0);
    return number;
}

WEAK void arc4random_buf(void *to, size_t size)
{
    getrandom(to, size, 0);
}

WEAK uint32_t arc4random_uniform(uint32_t limit)
{
    return limit < 2 ? 0 : arc4random() % limit;
}
