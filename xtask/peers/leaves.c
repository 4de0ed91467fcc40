/* One rank sends what the other receives only later, and finalizes: small messages, more than fit between the two at a time,
 * and a large one whose request it has freed. Rank 1 says on standard output whether what came is what was sent. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SMALL = 1000, COUNT = 1000, LARGE = 4 << 20, TAG_SMALL = 1, TAG_LARGE = 2, SECONDS = 3 };

static char small[SMALL], *large;

static void send_and_leave(void) {
    for (int i = 0; i < COUNT; ++i) {
        memset(small, i, SMALL);
        MPI_Send(small, SMALL, MPI_BYTE, 1, TAG_SMALL, MPI_COMM_WORLD);
    }
    MPI_Request request;
    memset(large, 7, LARGE);
    MPI_Isend(large, LARGE, MPI_BYTE, 1, TAG_LARGE, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
}

static void receive_late(void) {
    int wrong = 0;
    sleep(SECONDS);
    for (int i = 0; i < COUNT; ++i) {
        MPI_Recv(small, SMALL, MPI_BYTE, 0, TAG_SMALL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        wrong += small[0] != (char)i || small[SMALL - 1] != (char)i;
    }
    MPI_Recv(large, LARGE, MPI_BYTE, 0, TAG_LARGE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < LARGE; ++i)
        wrong += large[i] != 7;
    printf("%d of what a rank sent that has left came wrong\n", wrong);
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!(large = malloc(LARGE))) {
        fputs("there is no memory for a message\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (rank == 0)
        send_and_leave();
    else
        receive_late();
    MPI_Finalize();
    return 0;
}
