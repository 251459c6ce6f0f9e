/* A proxy that delays what clients send to a server, as a network would:
 *
 *     proxy LISTEN SERVER MICROSECONDS
 *
 * LISTEN and SERVER are paths of Unix sockets, or ports on the loopback interface (tcp:5432). Each
 * message from a client reaches the server MICROSECONDS after the proxy received it; messages from
 * the server pass at once. So each round trip takes that much longer. The proxy prints a line when
 * it listens, and runs until it is killed.
 *
 * One thread serves all connections. It waits until a socket is ready or the next delayed message
 * is due. A pipe (one direction of a connection) that holds MOST_HELD bytes reads no more until the
 * receiver has taken some.
 *
 * The kernel ends a wait some tens of microseconds late on an idle machine. The proxy measures by
 * how much, waits that much shorter, and polls for the rest. Where it may (as root), it raises its
 * priority, since a network needs no processor. */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define MOST_CONNECTIONS 1000
#define MOST_HELD (1 << 20)
#define CHUNK 16384
#define MOST_LEAD 80000     /* nanoseconds */
#define STEP 1000

/* Bytes that were received together. */
struct chunk {
    struct chunk *next;
    int64_t due;        /* nanoseconds of the monotonic clock */
    size_t length;
    size_t sent;
    char bytes[];
};

/* One direction of a connection. */
struct pipe {
    struct chunk *first;
    struct chunk **last;
    size_t held;
    int64_t delay;
    int blocked;        /* the receiver takes no more at the moment */
    int ended;          /* the sender has closed its side */
    int closed;         /* and the receiver was told */
};

struct connection {
    int sockets[2];         /* the client's and the server's */
    struct pipe pipes[2];   /* pipes[i] carries what sockets[i] sends */
};

static struct connection *connections[MOST_CONNECTIONS];
static int count;

static void die(const char *what)
{
    fprintf(stderr, "proxy: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Makes a socket and the address of a path or port. */
static int open_socket(const char *name, struct sockaddr_storage *address, socklen_t *length)
{
    int family = strncmp(name, "tcp:", 4) == 0 ? AF_INET : AF_UNIX;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        die("socket");
    memset(address, 0, sizeof *address);
    if (family == AF_INET) {
        struct sockaddr_in *in = (struct sockaddr_in *)address;
        int on = 1;

        in->sin_family = AF_INET;
        in->sin_port = htons((uint16_t)atoi(name + 4));
        in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        *length = sizeof *in;
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    } else {
        struct sockaddr_un *un = (struct sockaddr_un *)address;

        if (strlen(name) >= sizeof un->sun_path) {
            fprintf(stderr, "proxy: the path %s is too long for a socket\n", name);
            exit(1);
        }
        un->sun_family = AF_UNIX;
        strcpy(un->sun_path, name);
        *length = sizeof *un;
    }
    return fd;
}

static int listen_on(const char *name)
{
    struct sockaddr_storage address;
    socklen_t length;
    int fd = open_socket(name, &address, &length);

    if (address.ss_family == AF_UNIX)
        unlink(name);
    if (bind(fd, (struct sockaddr *)&address, length) != 0 || listen(fd, 128) != 0)
        die(name);
    return fd;
}

static void accept_client(int listener, const char *server, int64_t delay)
{
    struct sockaddr_storage address;
    socklen_t length;
    struct connection *connection;
    int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC), on = 1;

    if (client < 0)
        return;
    connection = calloc(1, sizeof *connection);
    if (connection == NULL)
        die("connection");
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connection->sockets[0] = client;
    connection->sockets[1] = open_socket(server, &address, &length);
    connection->pipes[0].delay = delay;
    for (int i = 0; i < 2; i++)
        connection->pipes[i].last = &connection->pipes[i].first;
    if (connect(connection->sockets[1], (struct sockaddr *)&address, length) != 0) {
        fprintf(stderr, "proxy: %s: %s\n", server, strerror(errno));
        close(connection->sockets[0]);
        close(connection->sockets[1]);
        free(connection);
        return;
    }
    connections[count++] = connection;
}

/* Takes what a socket has received into the pipe. */
static void receive(int from, struct pipe *pipe)
{
    struct chunk *chunk = malloc(sizeof *chunk + CHUNK);
    ssize_t got;

    if (chunk == NULL)
        die("message");
    got = recv(from, chunk->bytes, CHUNK, MSG_DONTWAIT);
    if (got > 0) {
        chunk->next = NULL;
        chunk->due = now() + pipe->delay;
        chunk->length = (size_t)got;
        chunk->sent = 0;
        *pipe->last = chunk;
        pipe->last = &chunk->next;
        pipe->held += chunk->length;
        return;
    }
    free(chunk);
    if (got == 0 || (errno != EAGAIN && errno != EINTR))
        pipe->ended = 1;
}

/* Sends what is due, until the receiver takes no more. */
static void forward(int to, struct pipe *pipe)
{
    while (pipe->first != NULL && pipe->first->due <= now()) {
        struct chunk *chunk = pipe->first;
        ssize_t sent = send(to, chunk->bytes + chunk->sent, chunk->length - chunk->sent,
                            MSG_DONTWAIT | MSG_NOSIGNAL);

        if (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
            pipe->blocked = errno == EAGAIN;
            return;
        }
        if (sent < 0)
            sent = (ssize_t)(chunk->length - chunk->sent);  /* nobody listens any more */
        chunk->sent += (size_t)sent;
        pipe->held -= (size_t)sent;
        if (chunk->sent < chunk->length)
            continue;
        pipe->first = chunk->next;
        if (pipe->first == NULL)
            pipe->last = &pipe->first;
        free(chunk);
    }
    pipe->blocked = 0;
    if (pipe->ended && !pipe->closed && pipe->first == NULL) {
        shutdown(to, SHUT_WR);
        pipe->closed = 1;
    }
}

/* Forwards what is due, and ends the connections whose two sides are closed. */
static void serve(void)
{
    for (int i = 0; i < count;) {
        struct connection *connection = connections[i];

        for (int side = 0; side < 2; side++)
            if (!connection->pipes[side].blocked)
                forward(connection->sockets[1 - side], &connection->pipes[side]);
        if (connection->pipes[0].closed && connection->pipes[1].closed) {
            close(connection->sockets[0]);
            close(connection->sockets[1]);
            free(connection);
            connections[i] = connections[--count];
        } else {
            i++;
        }
    }
}

/* Fills in what to wait for. Returns when the next message is due, or -1. */
static int64_t prepare(struct pollfd *polls)
{
    int64_t next = -1;

    for (int i = 0; i < count; i++)
        for (int side = 0; side < 2; side++) {
            struct pipe *in = &connections[i]->pipes[side], *out = &connections[i]->pipes[1 - side];
            struct pollfd *poll = &polls[2 * i + side];

            poll->events = 0;
            if (!in->ended && in->held < MOST_HELD)
                poll->events |= POLLIN;
            if (out->blocked)
                poll->events |= POLLOUT;
            poll->fd = poll->events ? connections[i]->sockets[side] : -1;
            if (in->first != NULL && !in->blocked && (next < 0 || in->first->due < next))
                next = in->first->due;
        }
    return next;
}

static void run(int listener, const char *server, int64_t delay)
{
    static struct pollfd polls[2 * MOST_CONNECTIONS + 1];
    int64_t lead = 0;   /* how late half of the waits end */

    for (;;) {
        int64_t next = prepare(polls), begin = now(), wait = next < 0 ? 0 : next - begin - lead;
        struct timespec timeout;
        int served = count, ready;

        wait = wait < 0 ? 0 : wait;
        timeout.tv_sec = (time_t)(wait / 1000000000);
        timeout.tv_nsec = (long)(wait % 1000000000);
        polls[2 * count] = (struct pollfd){
            .fd = count < MOST_CONNECTIONS ? listener : -1, .events = POLLIN,
        };
        ready = ppoll(polls, 2 * (nfds_t)count + 1, next < 0 ? NULL : &timeout, NULL);
        if (ready < 0 && errno != EINTR)
            die("poll");
        if (ready == 0 && wait > 0) {
            int late = now() - begin - wait > lead;

            lead += late ? STEP : -STEP;
            lead = lead < 0 ? 0 : lead > MOST_LEAD ? MOST_LEAD : lead;
        }
        for (int i = 0; i < served; i++)
            for (int side = 0; side < 2; side++) {
                struct connection *connection = connections[i];
                short events = polls[2 * i + side].fd < 0 ? 0 : polls[2 * i + side].revents;

                if (events & POLLOUT)
                    connection->pipes[1 - side].blocked = 0;
                if (events & (POLLIN | POLLHUP | POLLERR))
                    receive(connection->sockets[side], &connection->pipes[side]);
            }
        if (polls[2 * served].revents & POLLIN)
            accept_client(listener, server, delay);
        serve();
    }
}

int main(int argc, char **argv)
{
    long delay;
    int listener;

    if (argc != 4 || (delay = atol(argv[3])) < 0) {
        fputs("usage: proxy LISTEN SERVER MICROSECONDS\n", stderr);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    /* The kernel may end waits late by the timer slack, which is 50 microseconds by default. */
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    setpriority(PRIO_PROCESS, 0, -15);
    listener = listen_on(argv[1]);
    printf("delaying messages from %s to %s by %ld microseconds\n", argv[1], argv[2], delay);
    fflush(stdout);
    run(listener, argv[2], (int64_t)delay * 1000);
}
