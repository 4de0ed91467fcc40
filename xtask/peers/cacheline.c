/* What the hardware takes for a half round trip: two pinned threads pass one cache line to and fro. No message
 * library can be faster, so its latency is read as a multiple of this. */
#define _GNU_SOURCE
#include "measure.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <string.h>

/* A batch lasts some hundred microseconds: long beside the clock, short beside a time slice, so that an
 * interruption spoils one sample and not the median. */
enum { ROUND_TRIPS = 2000, BATCHES_MIN = 20, BATCHES_MAX = 100000, LINE = 64 };

/* Alone on its line, and on the neighbour that the prefetcher brings along. */
static struct {
    alignas(2 * LINE) atomic_ulong turn;
    char rest[2 * LINE - sizeof(atomic_ulong)];
} line;

static atomic_bool over;

/* Answers every odd number with the next even one. */
static void *answer(void *unused) {
    (void)unused;
    pin(1);
    for (unsigned long turn = 1;; turn += 2) {
        while (atomic_load_explicit(&line.turn, memory_order_acquire) != turn)
            if (atomic_load_explicit(&over, memory_order_relaxed))
                return NULL;
        atomic_store_explicit(&line.turn, turn + 1, memory_order_release);
    }
}

int main(int count, char **arguments) {
    double seconds = 0.2;
    if (count == 3 && strcmp(arguments[1], "--seconds") == 0)
        seconds = atof(arguments[2]);
    else if (count != 1) {
        fprintf(stderr, "usage: %s [--seconds S]\n", arguments[0]);
        return 2;
    }
    int cores[CPU_SETSIZE];
    if (cores_allowed(cores) < 2) {
        fprintf(stderr, "a cache line travels between two cores, and there is one (see taskset)\n");
        return 1;
    }
    pthread_t other;
    /* In this order: a thread inherits the cores of the one that starts it. */
    if (pthread_create(&other, NULL, answer, NULL) != 0 || pin(0) != 0) {
        fprintf(stderr, "cannot pin or start a thread\n");
        return 1;
    }
    static double samples[BATCHES_MAX];
    unsigned long turn = 0;
    int batches = 0;
    /* The first batch brings the thread and the line to their places; it is overwritten. */
    double until = now() + seconds;
    for (int batch = -1; batch < BATCHES_MIN || (batch < BATCHES_MAX && now() < until); ++batch) {
        double began = now();
        for (int i = 0; i < ROUND_TRIPS; ++i, turn += 2) {
            atomic_store_explicit(&line.turn, turn + 1, memory_order_release);
            while (atomic_load_explicit(&line.turn, memory_order_acquire) != turn + 2) {
            }
        }
        samples[batch < 0 ? 0 : batch] = (now() - began) / (2.0 * ROUND_TRIPS) * 1e9;
        batches = batch + 1;
    }
    atomic_store(&over, 1);
    pthread_join(other, NULL);
    print_result("cacheline", LINE, median(samples, batches), "ns", batches);
    return 0;
}
