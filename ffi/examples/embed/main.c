/* Two processes that exchange messages and use a window, over an engine of a few hundred lines.
 *
 *     ./embed 0 7777 & ./embed 1 7777
 *
 * Rank 0 listens on this port of 127.0.0.1. Each rank says what it got, and exits with 1 if that is not what
 * was sent. */

#include "engine.h"

#include <stdio.h>
#include <string.h>

enum { LARGE = 1 << 20, SMALL = 64, WINDOW = 4096 };

#define SEND(...) engine_send(__VA_ARGS__, __FILE__, __LINE__)
#define RECEIVE(...) engine_receive(__VA_ARGS__, __FILE__, __LINE__)

static void fill(unsigned char *bytes, size_t len, unsigned seed)
{
    for (size_t at = 0; at < len; at++)
        bytes[at] = (unsigned char)(seed + 7 * at + (at >> 8));
}

static void check(const char *what, uint32_t me, const unsigned char *bytes, size_t len, unsigned seed)
{
    for (size_t at = 0; at < len; at++) {
        if (bytes[at] != (unsigned char)(seed + 7 * at + (at >> 8))) {
            fprintf(stderr, "rank %u: %s: byte %zu is wrong\n", (unsigned)me, what, at);
            exit(1);
        }
    }
    printf("rank %u: %s: %zu bytes\n", (unsigned)me, what, len);
}

static void check_status(carrousel_status status, uint32_t source, uint64_t tag, size_t len)
{
    if (status.failure != CARROUSEL_FAILURE_NONE || !status.has_message || status.source != source ||
        status.tag != tag || status.len != len) {
        fprintf(stderr, "a message is not the one that was sent\n");
        exit(1);
    }
}

/* A message of 1 MiB each way at once: each is a rendezvous, by whichever side comes first. Then a small one.
 */
static void messages(engine *engine, uint32_t me, unsigned char *out, unsigned char *in)
{
    carrousel_memory from = engine_register(engine, out, LARGE), into = engine_register(engine, in, LARGE);
    uint32_t peer = 1 - me;
    for (unsigned round = 0; round < 4; round++) {
        fill(out, LARGE, 10 * round + me);
        carrousel_handle receive = RECEIVE(engine, peer, round, into, LARGE);
        carrousel_handle send = SEND(engine, peer, round, from, LARGE);
        check_status(engine_wait(engine, receive), peer, round, LARGE);
        engine_wait(engine, send);
        check("rendezvous", me, in, LARGE, 10 * round + peer);
    }
    if (me == 0) {
        /* The receive of rank 1 comes later: the message waits there. */
        fill(out, SMALL, 42);
        engine_wait(engine, SEND(engine, peer, 100, from, SMALL));
        fill(out, SMALL, 43);
        engine_wait(engine, SEND(engine, peer, 101, from, SMALL));
    } else {
        check_status(engine_wait(engine, RECEIVE(engine, CARROUSEL_ANY_SOURCE, 101, into, LARGE)), 0, 101,
                     SMALL);
        check("eager", me, in, SMALL, 43);
        check_status(engine_wait(engine, RECEIVE(engine, 0, 100, into, LARGE)), 0, 100, SMALL);
        check("eager, after a later one", me, in, SMALL, 42);
    }
    /* To itself. */
    fill(out, LARGE, 5 + me);
    carrousel_handle receive = RECEIVE(engine, me, 7, into, LARGE);
    carrousel_handle send = SEND(engine, me, 7, from, LARGE);
    check_status(engine_wait(engine, receive), me, 7, LARGE);
    engine_wait(engine, send);
    check("to itself", me, in, LARGE, 5 + me);
}

/* Each puts into the window of the other between two fences; then rank 1 reads that of rank 0 under a lock.
 */
static void window(engine *engine, uint32_t me, unsigned char *memory, unsigned char *local)
{
    uint32_t peer = 1 - me;
    carrousel_window_call fence = {.kind = CARROUSEL_WINDOW_CALL_KIND_FENCE};
    memset(memory, 0, WINDOW);
    engine_window(engine, memory, WINDOW);
    engine_window_close(engine, fence);
    fill(local, WINDOW / 2, 20 + me);
    engine_put(engine, peer, WINDOW / 2, local, WINDOW / 2);
    engine_window_close(engine, fence);
    check("window, put", me, memory + WINDOW / 2, WINDOW / 2, 20 + peer);

    uint32_t group[] = {peer};
    if (me == 0) {
        fill(memory, WINDOW, 30);
        engine_window_open(
            engine,
            (carrousel_window_call){.kind = CARROUSEL_WINDOW_CALL_KIND_POST, .group = group, .group_len = 1});
        engine_window_close(engine, (carrousel_window_call){.kind = CARROUSEL_WINDOW_CALL_KIND_WAIT});
        check("window, exposed", me, memory, WINDOW / 4, 31);
    } else {
        engine_window_open(engine, (carrousel_window_call){.kind = CARROUSEL_WINDOW_CALL_KIND_START,
                                                           .group = group,
                                                           .group_len = 1});
        unsigned char old[WINDOW / 2];
        engine_get(engine, peer, WINDOW / 2, old, WINDOW / 2);
        fill(local, WINDOW / 4, 31);
        engine_put(engine, peer, 0, local, WINDOW / 4);
        engine_window_close(engine, (carrousel_window_call){.kind = CARROUSEL_WINDOW_CALL_KIND_COMPLETE});
        unsigned char expected[WINDOW];
        fill(expected, WINDOW, 30);
        if (memcmp(old, expected + WINDOW / 2, WINDOW / 2) != 0) {
            fprintf(stderr, "the get has other bytes\n");
            exit(1);
        }
        printf("rank %u: window, get: %d bytes\n", (unsigned)me, WINDOW / 2);

        carrousel_window_call lock = {
            .kind = CARROUSEL_WINDOW_CALL_KIND_LOCK, .target = 0, .mode = CARROUSEL_LOCK_MODE_EXCLUSIVE};
        engine_window_open(engine, lock);
        engine_get(engine, 0, 0, local, WINDOW / 4);
        engine_window_close(engine,
                            (carrousel_window_call){.kind = CARROUSEL_WINDOW_CALL_KIND_FLUSH, .target = 0});
        check("window, under a lock", me, local, WINDOW / 4, 31);
        engine_window_close(engine,
                            (carrousel_window_call){.kind = CARROUSEL_WINDOW_CALL_KIND_UNLOCK, .target = 0});
    }
    /* Rank 0 serves its window until rank 1 needs it no more. */
    engine_window_close(engine, fence);
}

int main(int count, char **arguments)
{
    char *end = NULL;
    unsigned long me = count == 3 ? strtoul(arguments[1], &end, 10) : 2;
    unsigned long port = count == 3 ? strtoul(arguments[2], &end, 10) : 0;
    if (me > 1 || port == 0 || port > UINT16_MAX) {
        fprintf(stderr, "usage: embed RANK PORT, with rank 0 and rank 1\n");
        return 2;
    }
    engine *engine = engine_open((uint32_t)me, (uint16_t)port, count, arguments);
    unsigned char *memory = malloc(2 * LARGE + 2 * WINDOW);
    if (memory == NULL)
        return 1;
    messages(engine, (uint32_t)me, memory, memory + LARGE);
    window(engine, (uint32_t)me, memory + 2 * LARGE, memory + 2 * LARGE + WINDOW);
    engine_close(engine);
    free(memory);
    return 0;
}
