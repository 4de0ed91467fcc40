/* Measures an MPI library between two ranks on different nodes; bench/examples/nodes.rs is its twin, call by
 * call, with overlap.h: who changes one changes both. Arguments are names of measurements, all by default. Standard output has one
 * JSON object a line, as that of pt2pt.c; rank 0 prints. Rounds are counted, not timed: on emulated nodes a second
 * is a long time, and both ranks know when they are done. */
#define _GNU_SOURCE
#include "measure.h"
#include "overlap.h"

#include <mpi.h>
#include <stdbool.h>
#include <string.h>

enum { MI = 1 << 20, SMALL = 8, WARM_PINGS = 500, PINGS = 1000, WINDOW = 16, WINDOWS = 2, EXCHANGES = 5,
       TAG_DATA = 1, TAG_TOKEN = 2, TAG_TIMES = 3 };

/* What both ranks compute, in which two messages of 1 MiB pass on a busy machine, too; and by how much later than the
 * other rank the late one begins. Nodes share no clock: both begin by the barrier. A packet takes some milliseconds to a
 * node that computes, where a thread of its kernel emulates the adapter: what is early has arrived before the late one
 * begins. */
static const double COMPUTE_SECONDS = 300e-3, LATE_SECONDS = 20e-3;

static int rank, peer;
static char *outgoing, *incoming;
static double times[PINGS], held[PINGS];

static void give_token(void) { MPI_Send(NULL, 0, MPI_BYTE, peer, TAG_TOKEN, MPI_COMM_WORLD); }

static void take_token(void) {
    MPI_Recv(NULL, 0, MPI_BYTE, peer, TAG_TOKEN, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void receive(int size) {
    MPI_Recv(incoming, size, MPI_BYTE, peer, TAG_DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Half a round trip of `size` bytes, and how long the isend and its end hold rank 0, if there is a name for it: isend and
 * recv, or recv and isend; then the isend is waited for. */
static void round_trips(const char *bench, const char *bench_held, int size) {
    for (int i = -WARM_PINGS; i < PINGS; ++i) {
        MPI_Request request;
        double began = now(), posted = began;
        if (rank == 0) {
            MPI_Isend(outgoing, size, MPI_BYTE, peer, TAG_DATA, MPI_COMM_WORLD, &request);
            posted = now();
        }
        receive(size);
        double received = now();
        if (rank == 1)
            MPI_Isend(outgoing, size, MPI_BYTE, peer, TAG_DATA, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (i >= 0) {
            double ended = now();
            times[i] = (ended - began) / 2;
            held[i] = posted - began + ended - received;
        }
    }
    if (rank != 0)
        return;
    print_result(bench, size, median(times, PINGS) * 1e6, "us", PINGS);
    if (bench_held)
        print_result(bench_held, size, median(held, PINGS) * 1e6, "us", PINGS);
}

static void latency(void) { round_trips("latency", NULL, SMALL); }

/* Sizes of messages that are sent eagerly, and are not copied into a work request. */
static void eager(void) {
    static const int SIZES[] = {512, 4 << 10, 9000, 16 << 10};
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; ++i)
        round_trips("eager", "eager_held", SIZES[i]);
}

/* A window of isend to a window of irecv, then an acknowledgement; the first one connects. */
static void bandwidth(void) {
    MPI_Request requests[WINDOW];
    MPI_Status statuses[WINDOW];
    for (int i = -1; i < WINDOWS; ++i) {
        MPI_Barrier(MPI_COMM_WORLD);
        double began = now();
        for (int j = 0; j < WINDOW; ++j)
            if (rank == 0)
                MPI_Isend(outgoing, MI, MPI_BYTE, peer, TAG_DATA, MPI_COMM_WORLD, &requests[j]);
            else
                MPI_Irecv(incoming + (size_t)j * MI, MI, MPI_BYTE, peer, TAG_DATA, MPI_COMM_WORLD, &requests[j]);
        MPI_Waitall(WINDOW, requests, statuses);
        if (rank == 0)
            take_token();
        else
            give_token();
        if (i >= 0)
            times[i] = WINDOW * (double)MI / 1e6 / (now() - began);
    }
    if (rank == 0)
        print_result("bandwidth", MI, median(times, WINDOWS), "MB/s", WINDOWS);
}

/* Irecv at one rank, isend at the other, which is late or early; both compute, and both wait: what each of these calls
 * takes. The first exchange connects. */
static void overlap_of(const struct overlap_case *which) {
    static double samples[2][OVERLAP_CALLS][EXCHANGES];
    bool sends = rank == 0, late = sends == which->receiver_is_early;
    char *memory = sends ? outgoing : incoming;
    for (int i = -1; i < EXCHANGES; ++i) {
        double took[2][OVERLAP_CALLS] = {{0}};
        char stamp = (char)(i + 2);
        for (int j = 0; sends && j < which->messages; ++j)
            memory[(size_t)(j + 1) * MI - 1] = stamp;
        MPI_Barrier(MPI_COMM_WORLD);
        overlap_exchange(which, sends, memory, MI, peer, now() + (late ? LATE_SECONDS : 0), COMPUTE_SECONDS, took[sends]);
        for (int j = 0; !sends && j < which->messages; ++j)
            if (memory[(size_t)(j + 1) * MI - 1] != stamp) {
                fprintf(stderr, "overlap, %s: what came is not what was sent\n", which->name);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
        if (sends)
            MPI_Recv(took[0], OVERLAP_CALLS, MPI_DOUBLE, peer, TAG_TIMES, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(took[0], OVERLAP_CALLS, MPI_DOUBLE, peer, TAG_TIMES, MPI_COMM_WORLD);
        for (int j = 0; i >= 0 && j < 2 * OVERLAP_CALLS; ++j)
            samples[j / OVERLAP_CALLS][j % OVERLAP_CALLS][i] = took[j / OVERLAP_CALLS][j % OVERLAP_CALLS];
    }
    for (int message = 0; sends && message < which->messages; ++message)
        for (int call = 0; call < 4; ++call) {
            int side = call / 2, wait = call % 2;
            double *of_call = samples[side][wait * OVERLAP_MESSAGES + message];
            print_call("overlap", which->name, OVERLAP_NAMES[side][wait], message, MI, median(of_call, EXCHANGES) * 1e3,
                       "ms", EXCHANGES);
        }
}

static void overlap(void) {
    for (int i = 0; i < OVERLAP_CASE_COUNT; ++i)
        overlap_of(&OVERLAP_CASES[i]);
}

static const struct {
    const char *name;
    void (*run)(void);
} MEASUREMENTS[] = {
    {"latency", latency},
    {"eager", eager},
    {"overlap", overlap},
    {"bandwidth", bandwidth}};

int main(int argc, char **argv) {
    int ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    peer = 1 - rank;
    outgoing = malloc((size_t)OVERLAP_MESSAGES * MI);
    incoming = malloc((size_t)WINDOW * MI);
    if (ranks != 2 || !outgoing || !incoming) {
        fprintf(stderr, "two ranks are needed, with memory\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    /* Pages are there before anything is measured. */
    memset(outgoing, 0, (size_t)OVERLAP_MESSAGES * MI);
    memset(incoming, 0, (size_t)WINDOW * MI);
    for (size_t i = 0; i < sizeof MEASUREMENTS / sizeof *MEASUREMENTS; ++i) {
        bool wanted = argc < 2;
        for (int j = 1; j < argc; ++j)
            wanted |= strcmp(argv[j], MEASUREMENTS[i].name) == 0;
        if (wanted) {
            MPI_Barrier(MPI_COMM_WORLD);
            MEASUREMENTS[i].run();
        }
    }
    MPI_Finalize();
    return 0;
}
