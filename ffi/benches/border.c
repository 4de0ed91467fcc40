/* What an eager message costs through the C interface: as the benchmark `instructions` of `carrousel-rank`,
 * whose count is without it. `message` is counted, 1,000 times; posting the receive is not.
 *
 *     cc -O2 -g `pkg-config --cflags carrousel-ffi` border.c PREFIX/lib/libcarrousel_ffi.a \
 *         -lgcc_s -lpthread -lm -ldl -o border
 *     valgrind --tool=callgrind --toggle-collect=message ./border
 */

#include "carrousel.h"

#include <stdio.h>
#include <stdlib.h>

static carrousel_rank *sender, *receiver;
static carrousel_handle posted;

static void ok(carrousel_error e)
{
    if (e != CARROUSEL_ERROR_NONE) {
        fprintf(stderr, "%s\n", carrousel_error_text(e));
        exit(1);
    }
}

static void post(void)
{
    carrousel_call c = {.kind = CARROUSEL_CALL_KIND_RECEIVE, .tag = 5, .len = 8, .memory = {0x1000, 7}};
    carrousel_work w;
    ok(carrousel_rank_call(receiver, &c, &posted));
    while (carrousel_rank_next_work(receiver, &w) == CARROUSEL_ERROR_NONE)
        ;
}

__attribute__((noinline)) void message(void)
{
    carrousel_call c = {
        .kind = CARROUSEL_CALL_KIND_SEND, .peer = 1, .tag = 5, .len = 8, .memory = {0x1000, 7}};
    carrousel_work w;
    carrousel_event e = {.kind = CARROUSEL_EVENT_KIND_PACKET, .peer = 0};
    carrousel_status st;
    int ack = 0;
    carrousel_packet a;
    ok(carrousel_rank_send_eagerly(sender, &c));
    while (carrousel_rank_next_work(sender, &w) == CARROUSEL_ERROR_NONE)
        e.packet = w.packet;
    ok(carrousel_rank_event(receiver, &e));
    while (carrousel_rank_next_work(receiver, &w) == CARROUSEL_ERROR_NONE)
        if (w.kind == CARROUSEL_WORK_KIND_SEND) {
            ack = 1;
            a = w.packet;
        }
    ok(carrousel_rank_release(receiver, posted, &st));
    if (ack) {
        e.peer = 1;
        e.packet = a;
        ok(carrousel_rank_event(sender, &e));
        while (carrousel_rank_next_work(sender, &w) == CARROUSEL_ERROR_NONE)
            ;
    }
}

int main(void)
{
    ok(carrousel_rank_create(CARROUSEL_ABI_VERSION, NULL, 0, 2, NULL, &sender));
    ok(carrousel_rank_create(CARROUSEL_ABI_VERSION, NULL, 1, 2, NULL, &receiver));
    for (int i = 0; i < 1000; i++) {
        post();
        message();
    }
    ok(carrousel_rank_free(&sender));
    ok(carrousel_rank_free(&receiver));
    return 0;
}
