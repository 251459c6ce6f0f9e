/* The log of the mocks: one JSON object a line. */
#include "mock_core.h"

#include <stdlib.h>

FILE *mockdb_log(void)
{
    static FILE *log;
    static bool opened;
    if (!opened) {
        const char *path = getenv("MOCKDB_LOG");
        opened = true;
        log = path != NULL ? fopen(path, "a") : NULL;
        if (path != NULL && log == NULL) {
            perror(path);
            exit(MOCKDB_EXIT_UNSUPPORTED);
        }
    }
    return log;
}

void mockdb_log_text(FILE *log, const char *bytes, size_t length)
{
    putc('"', log);
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        if (byte == '"' || byte == '\\')
            fprintf(log, "\\%c", byte);
        else if (byte < 0x20 || byte >= 0x7f)
            fprintf(log, "\\u%04x", byte);
        else
            putc(byte, log);
    }
    putc('"', log);
}
