/* Runs the text of a file as one statement, such as the definition of a stored procedure:
 *
 *     statement ADDRESS FILE */
#include <stdio.h>
#include <stdlib.h>

#include "client.h"

int main(int argc, char **argv)
{
    static char sql[1 << 16];
    struct client *client;
    FILE *file;
    size_t length;
    int failed;

    if (argc != 3) {
        fputs("usage: statement ADDRESS FILE\n", stderr);
        return 2;
    }
    file = fopen(argv[2], "r");
    if (file == NULL) {
        perror(argv[2]);
        return 1;
    }
    length = fread(sql, 1, sizeof sql - 1, file);
    fclose(file);
    sql[length] = '\0';
    client = client_open(argv[1]);
    if (client == NULL)
        return 1;
    failed = client_execute(client, sql) != 0;
    client_close(client);
    return failed;
}
