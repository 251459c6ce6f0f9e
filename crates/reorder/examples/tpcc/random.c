#include "random.h"

#include <stdio.h>

void random_seed(struct random *random, uint64_t seed)
{
    random->state = seed;
}

/* SplitMix64. */
static uint64_t next(struct random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int uniform(struct random *random, int low, int high)
{
    return low + (int)(next(random) % ((uint64_t)(high - low) + 1));
}

int nurand(struct random *random, int a, int low, int high)
{
    const int c = 123 % (a + 1);
    int bits = uniform(random, 0, a) | uniform(random, low, high);

    return (bits + c) % (high - low + 1) + low;
}

void random_text(struct random *random, char *text, int low, int high)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    int length = uniform(random, low, high);

    for (int i = 0; i < length; i++)
        text[i] = letters[uniform(random, 0, (int)sizeof letters - 2)];
    text[length] = '\0';
}

void last_name(char name[17], int number)
{
    static const char *const syllables[] = {
        "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING",
    };

    snprintf(name, 17, "%s%s%s", syllables[number / 100 % 10], syllables[number / 10 % 10],
             syllables[number % 10]);
}
