#include <mpi.h>
#include <stdlib.h>

/* Ranks in a ring: each averages its edge with that of the rank before it, ten times. */
int main(int argc, char **argv) {
    int rank, size, row = argc > 1 ? atoi(argv[1]) : 256; /* doubles of an edge */
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    double *edge = calloc(row, sizeof *edge), *ghost = calloc(row, sizeof *ghost), sum = 0, all;

    for (int step = 0; step < 10; step++) {
        MPI_Send(edge, row, MPI_DOUBLE, next, 0, MPI_COMM_WORLD);
        MPI_Recv(ghost, row, MPI_DOUBLE, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < row; i++)
            edge[i] = 0.5 * (edge[i] + ghost[i]) + rank;
    }
    for (int i = 0; i < row; i++)
        sum += edge[i];
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
