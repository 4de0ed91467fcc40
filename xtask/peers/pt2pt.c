/* Measures an MPI library between two ranks, and its collectives among all. Standard output has one JSON object
 * a line: {"bench": NAME, "size": BYTES, "value": NUMBER, "unit": UNIT, "repetitions": N}, a median over N
 * batches. Calls of MPI only, so that every library is asked the same. `--help` says what is measured.
 *
 * Rank 0 measures and decides; the others learn from broadcasts between batches how long to go on. */
#define _GNU_SOURCE
#include "measure.h"
#include "overlap.h"

#include <getopt.h>
#include <mpi.h>
#include <stdbool.h>
#include <string.h>

#define KI 1024L
#define MI (1024L * 1024L)

enum { WINDOW = 64, REVERSED = 10, TAG_DATA = 1, TAG_TOKEN = 2, TAG_REVERSED = 3, SIZES_MAX = 16, SAMPLES_MIN = 5,
       SAMPLES_MAX = 100000, CALLS_MAX = 1 << 24 };

/* A batch is at least this long, so that the clock does not show in it; and not much longer, so that an
 * interruption spoils one of many batches. */
static const double BATCH_SECONDS_MIN = 0.5e-3;
/* An overlap: by how much later the late rank begins; for how many times what the transfer alone takes both compute,
 * within which bounds; how many exchanges say what that is; and from the message that names the start to the start. */
static const double DELAY_SECONDS = 50e-6, TRANSFERS_COMPUTED = 4, COMPUTE_SECONDS_MIN = 1e-3, COMPUTE_SECONDS_MAX = 0.5,
                    SOON_SECONDS = 100e-6;
enum { ALONE = 5 };

static int rank, ranks;
/* Every message of a window has its own place at the receiver, as MPI demands; at the sender they share one. */
static char *outgoing, *incoming;
static MPI_Request requests[2 * WINDOW];
/* How long rank 0 computes inside `hidden_send` and `hidden_receive`. */
static double compute_seconds;

/* Computes without entering the library. */
static void compute(double seconds) {
    if (seconds <= 0)
        return;
    for (double until = now() + seconds; now() < until;) {
    }
}

static void send(int size, int to) { MPI_Send(outgoing, size, MPI_BYTE, to, TAG_DATA, MPI_COMM_WORLD); }

static void receive(int size, int from) {
    MPI_Recv(incoming, size, MPI_BYTE, from, TAG_DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void give_token(int to) { MPI_Send(NULL, 0, MPI_BYTE, to, TAG_TOKEN, MPI_COMM_WORLD); }

static void take_token(int from) {
    MPI_Recv(NULL, 0, MPI_BYTE, from, TAG_TOKEN, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Each of the following does its work `calls` times, on every rank, and returns on rank 0 the seconds that
 * count. `sample` has synchronised the ranks before. */

static double ping_pong(int size, int calls) {
    double began = now();
    for (int i = 0; i < calls; ++i) {
        if (rank == 0)
            send(size, 1);
        receive(size, 1 - rank);
        if (rank == 1)
            send(size, 0);
    }
    return (now() - began) / 2;
}

static int post_receives(int size, int from, int count) {
    for (int i = 0; i < WINDOW; ++i)
        MPI_Irecv(incoming + (size_t)i * (size_t)size, size, MPI_BYTE, from, TAG_DATA, MPI_COMM_WORLD,
                  &requests[count++]);
    return count;
}

static int post_sends(int size, int to, int count) {
    for (int i = 0; i < WINDOW; ++i)
        MPI_Isend(outgoing, size, MPI_BYTE, to, TAG_DATA, MPI_COMM_WORLD, &requests[count++]);
    return count;
}

static double one_way(int size, int calls) {
    double began = now();
    for (int i = 0; i < calls; ++i) {
        int count = rank == 0 ? post_sends(size, 1, 0) : post_receives(size, 0, 0);
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
        if (rank == 0)
            take_token(1);
        else
            give_token(0);
    }
    return now() - began;
}

static double both_ways(int size, int calls) {
    double began = now();
    for (int i = 0; i < calls; ++i) {
        int count = post_receives(size, 1 - rank, 0);
        count = post_sends(size, 1 - rank, count);
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
        if (rank == 0)
            take_token(1);
        else
            give_token(0);
    }
    return now() - began;
}

/* Each message is taken as it comes; the sender never waits for an answer. */
static double stream(int size, int calls) {
    double began = now();
    for (int i = 0; i < calls; ++i)
        if (rank == 0)
            send(size, 1);
        else
            receive(size, MPI_ANY_SOURCE);
    if (rank == 0)
        take_token(1);
    else
        give_token(0);
    return now() - began;
}

/* Messages of different tags, all of which have come when the first receive asks for the last one. Only the receives
 * count: those of rank 0. */
static double reversed(int size, int calls) {
    double seconds = 0;
    for (int i = 0; i < calls; ++i)
        if (rank == 0) {
            take_token(1);
            double began = now();
            for (int message = REVERSED; message-- > 0;)
                MPI_Recv(incoming + (size_t)message * (size_t)size, size, MPI_BYTE, 1, TAG_REVERSED + message,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            seconds += now() - began;
            give_token(1);
        } else {
            for (int message = 0; message < REVERSED; ++message)
                MPI_Isend(outgoing, size, MPI_BYTE, 0, TAG_REVERSED + message, MPI_COMM_WORLD, &requests[message]);
            give_token(0);
            MPI_Waitall(REVERSED, requests, MPI_STATUSES_IGNORE);
            take_token(0);
        }
    return seconds;
}

/* Both ranks in one call, each with a message for the other. */
static double exchanged(int size, int calls) {
    double began = now();
    for (int i = 0; i < calls; ++i)
        MPI_Sendrecv(outgoing, size, MPI_BYTE, 1 - rank, TAG_DATA, incoming, size, MPI_BYTE, 1 - rank, TAG_DATA,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return now() - began;
}

static double sender_computes(int size, int calls) {
    double began = now();
    for (int i = 0; i < calls; ++i) {
        if (rank == 0) {
            MPI_Isend(outgoing, size, MPI_BYTE, 1, TAG_DATA, MPI_COMM_WORLD, requests);
            compute(compute_seconds);
            MPI_Wait(requests, MPI_STATUS_IGNORE);
        } else
            receive(size, 0);
    }
    return now() - began;
}

static double receiver_computes(int size, int calls) {
    double began = now();
    for (int i = 0; i < calls; ++i) {
        if (rank == 0) {
            MPI_Irecv(incoming, size, MPI_BYTE, 1, TAG_DATA, MPI_COMM_WORLD, requests);
            compute(compute_seconds);
            MPI_Wait(requests, MPI_STATUS_IGNORE);
        } else
            send(size, 0);
    }
    return now() - began;
}

static double sum(int size, int calls) {
    double began = now();
    for (int i = 0; i < calls; ++i)
        MPI_Allreduce(outgoing, incoming, size / (int)sizeof(double), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return now() - began;
}

static double meet(int size, int calls) {
    (void)size;
    double began = now();
    for (int i = 0; i < calls; ++i)
        MPI_Barrier(MPI_COMM_WORLD);
    return now() - began;
}

enum kind { TIME, TIME_OF_EACH, BYTES, MESSAGES, HIDDEN, OVERLAP };

static const struct bench {
    const char *name, *unit;
    enum kind kind;
    /* Messages of a call, both directions counted. */
    int messages;
    /* Ranks that receive, as bits, and compare the last byte of what came. 0: all receive, any number of ranks. */
    unsigned receivers;
    double (*run)(int size, int calls);
    long sizes[SIZES_MAX]; /* ends with -1 */
    const char *says;
} BENCHES[] = {
    {"latency", "us", TIME, 2, 3, ping_pong,
     {0, 8, 64, 512, 2 * KI, 4 * KI, 16 * KI, 64 * KI, 256 * KI, 1 * MI, -1},
     "half round trip of send and recv"},
    {"bandwidth", "MB/s", BYTES, WINDOW, 2, one_way,
     {8, 64, 512, 4 * KI, 16 * KI, 64 * KI, 256 * KI, 1 * MI, 4 * MI, -1},
     "64 isend to 64 irecv, then an acknowledgement"},
    {"bibandwidth", "MB/s", BYTES, 2 * WINDOW, 3, both_ways,
     {8, 64, 512, 4 * KI, 16 * KI, 64 * KI, 256 * KI, 1 * MI, 4 * MI, -1},
     "the same both ways at once, bytes of both counted"},
    {"message_rate", "messages/s", MESSAGES, WINDOW, 2, one_way, {8, -1}, "messages of `bandwidth` a second"},
    {"overlap", "us", OVERLAP, OVERLAP_MESSAGES, 2, NULL, {64 * KI, 256 * KI, 1 * MI, 4 * MI, -1},
     "irecv | isend; both compute; both wait: what each of these calls takes"},
    {"stream", "us", TIME, 1, 2, stream, {8, -1}, "a message of send after send, each to a recv from any source"},
    {"reversed", "us", TIME_OF_EACH, REVERSED, 1, reversed, {8, -1},
     "a recv of one of 10 messages that have come, the last one first"},
    {"sendrecv", "us", TIME, 2, 3, exchanged, {8, 64 * KI, 1 * MI, -1}, "a call, with as much both ways at once"},
    {"hidden_send", "percent", HIDDEN, 1, 2, sender_computes, {64 * KI, 1 * MI, -1},
     "isend, compute, wait; the other receives: computation that costs nothing"},
    {"hidden_receive", "percent", HIDDEN, 1, 1, receiver_computes, {64 * KI, 1 * MI, -1},
     "irecv, compute, wait; the other sends"},
    {"allreduce", "us", TIME, 1, 0, sum, {8, 64 * KI, -1}, "a call that sums doubles"},
    {"barrier", "us", TIME, 1, 0, meet, {0, -1}, "a call"},
};
enum { BENCH_COUNT = sizeof BENCHES / sizeof *BENCHES };

struct options {
    const char *benches; /* names between commas, or NULL for all */
    long sizes[SIZES_MAX];
    int size_count; /* 0: those of the measurement */
    int repetitions; /* 0: as many as fit */
    double seconds;
};

/* What the library was asked to bring has come. */
static bool arrived(const struct bench *bench, int size, char stamp) {
    if (bench->run == sum)
        return ((double *)incoming)[0] == (double)ranks;
    bool receives = rank < 2 && (bench->receivers >> rank & 1U) != 0;
    return !receives || size == 0 || incoming[size - 1] == stamp;
}

/* One batch: the seconds that count, and in `wall` how long it took with all around it. */
static double sample(const struct bench *bench, int size, int calls, double *wall) {
    static char stamp;
    stamp = (char)((stamp + 1) & 0x7f);
    if (bench->run == sum)
        ((double *)outgoing)[0] = 1;
    else if (size > 0)
        outgoing[size - 1] = stamp;
    double began = now();
    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = bench->run(size, calls);
    *wall = now() - began;
    if (!arrived(bench, size, stamp)) {
        fprintf(stderr, "rank %d: %s of %d bytes: what came is not what was sent\n", rank, bench->name, size);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return seconds;
}

static int agreed(int value) {
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return value;
}

/* These must not be repeated within a batch: each begins with both ranks at the same place. */
static bool is_single(const struct bench *bench) { return bench->kind == HIDDEN; }

/* Doubles the calls of a batch until it is long enough; this is the warming up as well. */
static int calls_of_batch(const struct bench *bench, int size) {
    double wall;
    /* The first one connects; it says nothing about the next. */
    sample(bench, size, 1, &wall);
    for (int calls = 1;; calls *= 2) {
        sample(bench, size, calls, &wall);
        if (agreed(is_single(bench) || wall >= BATCH_SECONDS_MIN || calls >= CALLS_MAX))
            return calls;
    }
}

/* The median over batches of the seconds that a call takes; in `count` how many batches there were. */
static double seconds_of_call(const struct bench *bench, int size, int calls, double budget, int repetitions,
                              int *count) {
    static double samples[SAMPLES_MAX];
    double wall, until = now() + budget;
    int i = 0;
    for (; i < SAMPLES_MAX; ++i) {
        bool more = repetitions > 0 ? i < repetitions : i < SAMPLES_MIN || now() < until;
        if (!agreed(more))
            break;
        samples[i] = sample(bench, size, calls, &wall) / calls;
    }
    *count = i;
    return median(samples, i);
}

/* The share of a transfer that can be computed through: the computation grows by tenths of the transfer's time
 * l0 until the whole takes a tenth longer; with the last (c, l) before that, (c - (l - l0)) / l0. */
static double hidden_share(const struct bench *bench, int size, const struct options *options, int *count) {
    double budget = options->seconds / 12;
    compute_seconds = 0;
    double l0 = seconds_of_call(bench, size, 1, budget, options->repetitions, count), c = 0, l = l0;
    /* With c above 1.1 l0 the whole is too long for certain, so this ends before 12. */
    for (int m = 1; m <= 12; ++m) {
        int batches;
        compute_seconds = 0.1 * m * l0;
        double longer = seconds_of_call(bench, size, 1, budget, options->repetitions, &batches);
        *count = batches < *count ? batches : *count;
        if (!agreed(longer < 1.1 * l0))
            break;
        c = compute_seconds;
        l = longer;
    }
    compute_seconds = 0;
    return 100 * (c - (l - l0)) / l0;
}

/* One exchange of an overlap, whose times rank 0 gets: its own, as the sender's, and those of the receiver. */
static void exchange(const struct overlap_case *which, int size, double seconds, double took[2][OVERLAP_CALLS]) {
    static char stamp;
    bool sends = rank == 0;
    char *memory = sends ? outgoing : incoming;
    stamp = (char)((stamp + 1) & 0x7f);
    for (int i = 0; sends && size > 0 && i < which->messages; ++i)
        memory[(i + 1) * size - 1] = stamp;
    /* Both ranks are on one node: its clock is that of both. */
    double start = now() + SOON_SECONDS;
    MPI_Bcast(&start, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    bool late = sends == which->receiver_is_early;
    MPI_Barrier(MPI_COMM_WORLD);
    overlap_exchange(which, sends, memory, size, 1 - rank, start + (late ? DELAY_SECONDS : 0), seconds, took[sends]);
    for (int i = 0; !sends && size > 0 && i < which->messages; ++i)
        if (memory[(i + 1) * size - 1] != stamp) {
            fprintf(stderr, "overlap, %s of %d bytes: what came is not what was sent\n", which->name, size);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    if (sends)
        MPI_Recv(took[0], OVERLAP_CALLS, MPI_DOUBLE, 1, TAG_TOKEN, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(took[0], OVERLAP_CALLS, MPI_DOUBLE, 0, TAG_TOKEN, MPI_COMM_WORLD);
}

/* For how long both ranks compute: some times what the transfer takes, which is rather too long here, since the early
 * rank waits for the late one as well. The first exchange connects. */
static double seconds_to_compute(const struct overlap_case *which, int size) {
    double longer[ALONE], took[2][OVERLAP_CALLS] = {{0}};
    exchange(which, size, 0, took);
    for (int i = 0; i < ALONE; ++i) {
        double seconds[2] = {0};
        exchange(which, size, 0, took);
        for (int j = 0; j < 2 * OVERLAP_CALLS; ++j)
            seconds[j / OVERLAP_CALLS] += took[j / OVERLAP_CALLS][j % OVERLAP_CALLS];
        longer[i] = seconds[0] > seconds[1] ? seconds[0] : seconds[1];
    }
    double seconds = TRANSFERS_COMPUTED * median(longer, ALONE);
    seconds = seconds < COMPUTE_SECONDS_MIN ? COMPUTE_SECONDS_MIN : seconds;
    seconds = seconds > COMPUTE_SECONDS_MAX ? COMPUTE_SECONDS_MAX : seconds;
    MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return seconds;
}

/* The medians of what each call of an overlap takes. */
static void overlap(const struct overlap_case *which, int size, const struct options *options) {
    static double samples[2][OVERLAP_CALLS][SAMPLES_MAX];
    double took[2][OVERLAP_CALLS] = {{0}}, seconds = seconds_to_compute(which, size), until = now() + options->seconds;
    int count = 0;
    for (; count < SAMPLES_MAX; ++count) {
        bool more = options->repetitions > 0 ? count < options->repetitions : count < SAMPLES_MIN || now() < until;
        if (!agreed(more))
            break;
        exchange(which, size, seconds, took);
        for (int j = 0; j < 2 * OVERLAP_CALLS; ++j)
            samples[j / OVERLAP_CALLS][j % OVERLAP_CALLS][count] = took[j / OVERLAP_CALLS][j % OVERLAP_CALLS];
    }
    for (int message = 0; rank == 0 && message < which->messages; ++message)
        for (int call = 0; call < 4; ++call) {
            int side = call / 2, wait = call % 2;
            double *of_call = samples[side][wait * OVERLAP_MESSAGES + message];
            print_call("overlap", which->name, OVERLAP_NAMES[side][wait], message, size, median(of_call, count) * 1e6,
                       "us", count);
        }
}

static void measure(const struct bench *bench, long size, const struct options *options) {
    if (bench->kind == OVERLAP) {
        for (int i = 0; i < OVERLAP_CASE_COUNT; ++i)
            overlap(&OVERLAP_CASES[i], (int)size, options);
        return;
    }
    double value;
    int count, bytes = (int)size;
    int calls = calls_of_batch(bench, bytes);
    if (bench->kind == HIDDEN)
        value = hidden_share(bench, bytes, options, &count);
    else {
        double seconds;
        /* An interruption while the batch was sized leaves it too short: its ends would count, and a single call
         * is quicker than one of many. The median knows better, and the batch is sized anew. */
        for (bool again = true; again;) {
            seconds = seconds_of_call(bench, bytes, calls, options->seconds, options->repetitions, &count);
            again = !is_single(bench) && seconds * calls < BATCH_SECONDS_MIN / 8 && calls < CALLS_MAX;
            again = agreed(again);
            if (again)
                calls = agreed((int)(BATCH_SECONDS_MIN / seconds) + 1);
        }
        value = bench->kind == BYTES          ? (double)bench->messages * (double)size / seconds / 1e6
                : bench->kind == MESSAGES     ? bench->messages / seconds
                : bench->kind == TIME_OF_EACH ? seconds / bench->messages * 1e6
                                              : seconds * 1e6;
    }
    if (rank == 0)
        print_result(bench->name, size, value, bench->unit, count);
}

/* Rank 0 says what is wrong, once, and all end. */
static void refuse(const char *what, const char *which) {
    if (rank == 0)
        fprintf(stderr, "pt2pt: %s%s; --help says what there is\n", what, which);
    MPI_Finalize();
    exit(2);
}

static void help(void) {
    printf("mpiexec -n 2 pt2pt [--bench NAME[,NAME...]] [--size BYTES[,BYTES...]] [--repetitions N] [--seconds S]\n\n"
           "Rank r is pinned to the r-th core. Each result is the median over batches.\n\n"
           "  --bench        which measurements (all)\n"
           "  --size         which sizes: 8, 64KiB, 1MiB (each measurement's own)\n"
           "  --repetitions  batches of a measurement, instead of a time\n"
           "  --seconds      time of a measurement (0.2)\n\n");
    for (int i = 0; i < BENCH_COUNT; ++i)
        printf("  %-17s %-10s  %s\n", BENCHES[i].name, BENCHES[i].unit, BENCHES[i].says);
}

static void parse_sizes(char *list, struct options *options) {
    for (char *word = strtok(list, ","); word; word = strtok(NULL, ",")) {
        char *end;
        long size = strtol(word, &end, 10);
        if (strcmp(end, "KiB") == 0)
            size *= KI;
        else if (strcmp(end, "MiB") == 0)
            size *= MI;
        else if (end == word || *end)
            size = -1;
        /* A window of larger ones would not fit into most memories. */
        if (size < 0 || size > 16 * MI || options->size_count == SIZES_MAX)
            refuse("--size takes up to 16 sizes from 0 to 16MiB, not ", word);
        options->sizes[options->size_count++] = size;
    }
}

static bool named(const char *list, const char *name) {
    size_t length = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

static void check_names(const char *list) {
    char word[64];
    for (const char *at = list; at && *at;) {
        size_t length = strcspn(at, ",");
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        bool known = false;
        for (int i = 0; i < BENCH_COUNT; ++i)
            known |= strcmp(BENCHES[i].name, word) == 0;
        if (!known)
            refuse("there is no measurement ", word);
        at += length + (at[length] == ',');
    }
}

static struct options parse(int count, char **arguments) {
    static const struct option KNOWN[] = {{"bench", required_argument, NULL, 'b'},
                                          {"size", required_argument, NULL, 's'},
                                          {"repetitions", required_argument, NULL, 'r'},
                                          {"seconds", required_argument, NULL, 't'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct options options = {.seconds = 0.2};
    opterr = 0;
    for (int option; (option = getopt_long(count, arguments, "", KNOWN, NULL)) != -1;) {
        if (option == 'b')
            check_names(options.benches = optarg);
        else if (option == 's')
            parse_sizes(optarg, &options);
        else if (option == 'r' && (options.repetitions = atoi(optarg), options.repetitions >= 1) &&
                 options.repetitions <= SAMPLES_MAX)
            continue;
        else if (option == 't' && (options.seconds = atof(optarg), options.seconds > 0))
            continue;
        else if (option == 'h') {
            if (rank == 0)
                help();
            MPI_Finalize();
            exit(0);
        } else
            refuse("not understood: ", arguments[optind - 1]);
    }
    if (optind < count)
        refuse("not understood: ", arguments[optind]);
    return options;
}

/* Memory that has been touched, so that no measurement meets it first. */
static char *touched(size_t size) {
    char *memory = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
    if (!memory) {
        fprintf(stderr, "rank %d: no %zu bytes of memory; choose smaller sizes\n", rank, size);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memset(memory, 0, (size + 4095) / 4096 * 4096);
    return memory;
}

int main(int count, char **arguments) {
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    struct options options = parse(count, arguments);
    if (pin(rank) != 0)
        refuse("cannot pin to a core", "");
    for (int i = 0; i < BENCH_COUNT; ++i) {
        const struct bench *bench = &BENCHES[i];
        if (options.benches && !named(options.benches, bench->name))
            continue;
        if (ranks != 2 && bench->receivers != 0)
            refuse("two ranks are needed for ", bench->name);
        long own[SIZES_MAX + 1];
        int sizes = 0;
        if (options.size_count > 0 && bench->run != meet)
            for (; sizes < options.size_count; ++sizes)
                own[sizes] = options.sizes[sizes];
        else
            for (; bench->sizes[sizes] >= 0; ++sizes)
                own[sizes] = bench->sizes[sizes];
        for (int s = 0; s < sizes; ++s) {
            if (bench->run == sum && (own[s] == 0 || own[s] % (long)sizeof(double) != 0))
                refuse("allreduce needs sizes of whole doubles", "");
            bool windowed = bench->kind == BYTES || bench->kind == MESSAGES;
            size_t size = own[s] > 0 ? (size_t)own[s] : 1;
            size_t places = bench->kind == OVERLAP ? OVERLAP_MESSAGES : 1;
            outgoing = touched(places * size);
            places = windowed ? WINDOW : bench->kind == TIME_OF_EACH ? (size_t)bench->messages : places;
            incoming = touched(places * size);
            measure(bench, own[s], &options);
            free(outgoing);
            free(incoming);
        }
    }
    MPI_Finalize();
    return 0;
}
