/* An object with an allocator takes nothing from malloc: linked with `--wrap`, so that every call is counted.
 */

#include "carrousel.h"

#include <assert.h>
#include <stdio.h>

static unsigned long calls;

#define COUNTED(result, name, arguments, names)                                                              \
    result __real_##name arguments;                                                                          \
    result __wrap_##name arguments;                                                                          \
    result __wrap_##name arguments                                                                           \
    {                                                                                                        \
        calls++;                                                                                             \
        return __real_##name names;                                                                          \
    }
COUNTED(void *, malloc, (size_t size), (size))
COUNTED(void *, calloc, (size_t count, size_t size), (count, size))
COUNTED(void *, realloc, (void *block, size_t size), (block, size))
COUNTED(void *, aligned_alloc, (size_t align, size_t size), (align, size))
COUNTED(int, posix_memalign, (void **block, size_t align, size_t size), (block, align, size))

/* Memory that is given once. */
static _Alignas(64) unsigned char arena[8 << 20];
static size_t used, given, returned;

static void *allocate(void *context, size_t size, size_t align)
{
    (void)context;
    used = (used + align - 1) / align * align;
    if (size > sizeof arena - used)
        return NULL;
    used += size;
    given += size;
    return arena + used - size;
}

static void release(void *context, void *block, size_t size, size_t align)
{
    (void)context;
    (void)block;
    (void)align;
    returned += size;
}

/* Takes all work, and gives the packets to the other rank. */
static void drain(carrousel_rank **ranks, uint32_t me)
{
    carrousel_work work;
    carrousel_event events[8];
    uint32_t to[8];
    int count = 0;
    while (carrousel_rank_next_work(ranks[me], &work) == CARROUSEL_ERROR_NONE) {
        if (work.has_packet) {
            to[count] = work.peer;
            events[count++] = (carrousel_event){.kind = CARROUSEL_EVENT_KIND_PACKET,
                                                .peer = me,
                                                .context = work.context,
                                                .packet = work.packet};
        }
        if (work.kind == CARROUSEL_WORK_KIND_READ || work.kind == CARROUSEL_WORK_KIND_WRITE) {
            to[count] = me;
            events[count++] = (carrousel_event){.kind = work.kind == CARROUSEL_WORK_KIND_READ
                                                            ? CARROUSEL_EVENT_KIND_READ
                                                            : CARROUSEL_EVENT_KIND_WRITTEN,
                                                .request = work.request};
        }
        assert(count < 7);
    }
    for (int at = 0; at < count; at++) {
        assert(carrousel_rank_event(ranks[to[at]], &events[at]) == CARROUSEL_ERROR_NONE);
        drain(ranks, to[at]);
    }
}

int main(void)
{
    carrousel_allocator allocator = {allocate, release, NULL};
    carrousel_rank *ranks[2];
    carrousel_handle requests[2][64];
    uint32_t window;
    unsigned long before = calls;
    for (uint32_t me = 0; me < 2; me++) {
        assert(carrousel_rank_create(CARROUSEL_ABI_VERSION, &allocator, me, 2, NULL, &ranks[me]) ==
               CARROUSEL_ERROR_NONE);
        assert(carrousel_rank_create_window(ranks[me], NULL, &window) == CARROUSEL_ERROR_NONE);
    }
    for (unsigned at = 0; at < 64; at++) {
        carrousel_call call = {.kind = at % 2 ? CARROUSEL_CALL_KIND_SEND : CARROUSEL_CALL_KIND_RECEIVE};
        call.len = at % 3 ? 8 : 1 << 20;
        for (unsigned side = 0; side < 2; side++) {
            uint32_t me = (at + side) % 2;
            call.kind = me ? CARROUSEL_CALL_KIND_RECEIVE : CARROUSEL_CALL_KIND_SEND;
            call.peer = 1 - me;
            assert(carrousel_rank_call(ranks[me], &call, &requests[me][at]) == CARROUSEL_ERROR_NONE);
            drain(ranks, me);
        }
    }
    for (uint32_t me = 0; me < 2; me++) {
        carrousel_status status;
        for (unsigned at = 0; at < 64; at++)
            assert(carrousel_rank_release(ranks[me], requests[me][at], &status) == CARROUSEL_ERROR_NONE);
        assert(carrousel_rank_free(&ranks[me]) == CARROUSEL_ERROR_NONE);
    }
    assert(given == returned && given > 0);
    if (calls != before) {
        fprintf(stderr, "%lu calls of malloc\n", calls - before);
        return 1;
    }
    /* Without an allocator it is malloc's, so that this test can see it. */
    assert(carrousel_rank_create(CARROUSEL_ABI_VERSION, NULL, 0, 2, NULL, &ranks[0]) == CARROUSEL_ERROR_NONE);
    assert(calls > before && carrousel_rank_free(&ranks[0]) == CARROUSEL_ERROR_NONE);
    printf("%zu bytes\n", given);
    return 0;
}
