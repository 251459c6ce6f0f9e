/*
 * What a generated test program uses: inputs that are a function of the seed and of the place of
 * the input, and the recording of outputs. The header includes no other header, since it stands
 * behind the program under test in one source file.
 */
#ifndef MOCK_INPUT_H
#define MOCK_INPUT_H

#ifdef __cplusplus
extern "C" {
#endif

/* The place of the next input or output: a path as in input.lines[3].amount. */
void mockdb_push(const char *name);
void mockdb_push_index(unsigned long index);
void mockdb_pop(void);

/* Returns an integer from `low` to `high`; a small one if low is greater than high. */
long long mockdb_input_integer(long long low, long long high);
/* Returns a number with two decimal places, with the same limits. */
double mockdb_input_real(long long low, long long high);
/* Fills an array of characters with a text that ends with a zero byte: one of `count` texts, or a
 * random one if count is 0. */
void mockdb_input_bytes(void *place, unsigned long size, const char *const *texts,
                        unsigned long count);
/* Returns such a text in memory of its own. */
char *mockdb_input_text(const char *const *texts, unsigned long count);
/* Returns zeroed memory. */
void *mockdb_input_memory(unsigned long size);

/* Record the value that stands at the current place after the call. */
void mockdb_output_integer(long long value);
void mockdb_output_real(double value);
void mockdb_output_bytes(const void *bytes, unsigned long size);
void mockdb_output_text(const char *text);
void mockdb_output_null(int null);

/* Name a constant of the program. Inputs and columns often have such a value. */
void mockdb_constant(long long value);
void mockdb_constant_text(const char *text);

/* Opens a connection; begins a transaction on it. Each mock has its own. */
void *mockdb_connect(void);
void mockdb_begin(void *connection);

/* Records that the program has come to a call that runs a query. */
void mockdb_site(unsigned number);

/* Say where the call begins and ends. What is recorded before the begin is the setup. The call may
 * take as many seconds as MOCKDB_LIMIT says; then a signal ends the process. */
void mockdb_call_begins(void);
void mockdb_call_ends(void);

#ifdef __cplusplus
}
#endif

#endif
