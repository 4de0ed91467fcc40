/* Overlap in the pattern of plain programs: a barrier; irecv at one rank and isend at the other; both compute; both
 * wait. What is measured is each of these calls. Between the call that starts a request and the wait for it, neither
 * rank enters the library: no token, no probe, no test. bench/src/overlap.rs and bench/examples/nodes.rs are its twins,
 * call by call: who changes one changes all. */
#ifndef OVERLAP_H
#define OVERLAP_H

#include "measure.h"

#include <mpi.h>
#include <stdbool.h>

/* A call of a rank: what starts a request, and the wait for it, each of up to two messages. */
enum { OVERLAP_MESSAGES = 2, OVERLAP_CALLS = 2 * OVERLAP_MESSAGES, OVERLAP_TAG = 1 };

static const struct overlap_case {
    const char *name;
    bool receiver_is_early;
    int messages;
} OVERLAP_CASES[] = {{"receiver_early", true, 1},
                     {"receiver_early_two", true, 2},
                     {"sender_early", false, 1},
                     {"sender_early_two", false, 2}};
enum { OVERLAP_CASE_COUNT = sizeof OVERLAP_CASES / sizeof *OVERLAP_CASES };

/* The names of a rank's calls: those of the receiver, then those of the sender. */
static const char *const OVERLAP_NAMES[2][2] = {{"irecv", "recv_wait"}, {"isend", "send_wait"}};

static inline void overlap_compute(double seconds) {
    for (double until = now() + seconds; now() < until;) {
    }
}

/* One rank's part in one exchange, from `start` on: in `took`, the seconds of the calls that start requests, then those
 * of the waits, message by message. */
static inline void overlap_exchange(const struct overlap_case *which, bool sends, char *memory, int size, int peer,
                                    double start, double seconds, double took[OVERLAP_CALLS]) {
    MPI_Request requests[OVERLAP_MESSAGES];
    while (now() < start) {
    }
    for (int i = 0; i < which->messages; ++i) {
        char *place = memory + (size_t)i * (size_t)size;
        double began = now();
        if (sends)
            MPI_Isend(place, size, MPI_BYTE, peer, OVERLAP_TAG, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Irecv(place, size, MPI_BYTE, peer, OVERLAP_TAG, MPI_COMM_WORLD, &requests[i]);
        took[i] = now() - began;
    }
    overlap_compute(seconds);
    for (int i = 0; i < which->messages; ++i) {
        double began = now();
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        took[OVERLAP_MESSAGES + i] = now() - began;
    }
}

#endif
