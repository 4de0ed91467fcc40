/* What both programs measure with: a clock, a core of one's own, a median, and a line of JSON. */
#ifndef MEASURE_H
#define MEASURE_H

#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Seconds of a clock that only goes forward. */
static inline double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The cores that the process may use, in `cores`, and how many these are. */
static inline int cores_allowed(int cores[CPU_SETSIZE]) {
    cpu_set_t allowed;
    int count = 0;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return 0;
    for (size_t core = 0; core < CPU_SETSIZE; ++core)
        if (CPU_ISSET(core, &allowed))
            cores[count++] = (int)core;
    return count;
}

/* Keeps the calling thread on the `index`-th of the allowed cores, counted around. Every library is pinned
 * by this one rule, and none by its own, so that none has the better place. */
static inline int pin(int index) {
    int cores[CPU_SETSIZE];
    int count = cores_allowed(cores);
    cpu_set_t chosen;
    if (count == 0)
        return -1;
    CPU_ZERO(&chosen);
    CPU_SET((size_t)cores[index % count], &chosen);
    return sched_setaffinity(0, sizeof chosen, &chosen);
}

static inline int ascending(const void *left, const void *right) {
    double l = *(const double *)left, r = *(const double *)right;
    return (l > r) - (l < r);
}

/* The median; sorts what it is given. */
static inline double median(double *samples, int count) {
    qsort(samples, (size_t)count, sizeof *samples, ascending);
    return count % 2 ? samples[count / 2] : (samples[count / 2 - 1] + samples[count / 2]) / 2;
}

/* One result about one call of an overlap, as one line; of the second message, the call's name ends with a 2. */
static inline void print_call(const char *bench, const char *name, const char *call, int message, long size, double value,
                              const char *unit, int repetitions) {
    printf("{\"bench\": \"%s\", \"case\": \"%s\", \"call\": \"%s%s\", \"size\": %ld, \"value\": %.9g, "
           "\"unit\": \"%s\", \"repetitions\": %d}\n",
           bench, name, call, message > 0 ? "2" : "", size, value, unit, repetitions);
    fflush(stdout);
}

/* One result, as one line. */
static inline void print_result(const char *bench, long size, double value, const char *unit, int repetitions) {
    printf("{\"bench\": \"%s\", \"size\": %ld, \"value\": %.9g, \"unit\": \"%s\", \"repetitions\": %d}\n", bench,
           size, value, unit, repetitions);
    fflush(stdout);
}

#endif
