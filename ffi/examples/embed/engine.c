#define _POSIX_C_SOURCE 200809L

#include "engine.h"
#include "carrousel_trace.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* What travels. Both processes are of one build, so that a frame's numbers are as the machine has them. */
enum frame_kind {
    /* The head of a packet, and the data of an EAGER. */
    PACKET = 1,
    /* Bytes for `address` in the region `key`. */
    WRITE,
    /* Bytes at `address` in the region `key` are wanted. */
    READ,
    /* These. */
    READ_DONE,
    /* Bytes for the window, at `address`. */
    PUT,
    /* Bytes of the window are wanted. */
    GET,
    /* The operation is complete, with its bytes if it was a get. */
    OPERATION_DONE,
    /* A packet of the window, and a grant word. */
    WINDOW_PACKET,
    GRANT,
};

/* Without gaps: bytes that nobody has written would go out with it. */
typedef struct frame {
    uint32_t kind;
    /* Of memory. */
    uint32_t key;
    uint64_t address;
    /* Bytes behind the frame. */
    uint64_t len;
    /* Bytes that are wanted. */
    uint64_t wanted;
    /* What the answer has to name; of a grant word, its value. */
    uint64_t value;
    /* The operation. */
    uint64_t age;
    uint32_t place;
    /* The grant word. */
    uint32_t word;
    /* The packet of the window. */
    uint32_t packet;
    uint32_t mode;
    uint64_t access;
} frame;

/* A frame of the peer is not believed beyond this. */
enum { FRAME_MAX = 64 << 20 };

/* Bytes that wait to be sent, or to be taken. */
typedef struct bytes {
    unsigned char *all;
    size_t begin, end, room;
} bytes;

typedef struct region {
    unsigned char *begin;
    size_t len;
} region;

typedef struct kept {
    carrousel_kept name;
    unsigned char *data;
} kept;

/* A report of this process to itself: a packet, or a completion. */
typedef struct own {
    struct own *next;
    carrousel_event event;
    carrousel_window_event window_event;
    int is_of_window;
    size_t len;
    unsigned char data[];
} own;

/* A read that the peer has not answered, and the packet that is to follow it. */
typedef struct reading {
    int is_used;
    carrousel_work work;
} reading;

struct engine {
    carrousel_rank *rank;
    uint32_t me;
    int socket;
    bytes out, in;
    /* Window packets that have to wait until all gets are answered, and all that was posted behind them. */
    bytes held;
    int is_holding, gets;
    region regions[REGIONS];
    uint32_t region_count;
    kept kept[KEPT];
    reading readings[REGIONS];
    own *first, **last;
    /* The data behind the packet that is being handled. */
    const unsigned char *data;
    size_t data_len;
    carrousel_trace trace;
    /* What has come for the window before this process has made it. */
    bytes early;
    int has_window;
    uint32_t window;
    region window_memory;
    /* Local buffers of operations, by the name that the library hands on. */
    region locals[OPERATIONS];
    uint64_t local_count;
};

static void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "embed: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    exit(1);
}

/* Ends the process for an error that a correct engine never sees. */
static void expect(engine *engine, carrousel_error error, const char *what)
{
    char why[256] = "";
    if (error == CARROUSEL_ERROR_NONE)
        return;
    carrousel_rank_error_text(engine->rank, why, sizeof why, NULL);
    fail("%s: %s: %s", what, carrousel_error_text(error), why);
}

static void append(bytes *to, const void *from, size_t len)
{
    if (to->room - to->end < len) {
        size_t used = to->end - to->begin;
        if (used > 0)
            memmove(to->all, to->all + to->begin, used);
        to->begin = 0;
        to->end = used;
        if (to->room - used < len) {
            to->room = 2 * (used + len);
            to->all = realloc(to->all, to->room);
            if (to->all == NULL)
                fail("out of memory");
        }
    }
    if (len > 0)
        memcpy(to->all + to->end, from, len);
    to->end += len;
}

static void post_to(bytes *to, const frame *frame, const void *data)
{
    append(to, frame, sizeof *frame);
    append(to, data, frame->len);
}

static void post(engine *engine, const frame *frame, const void *data)
{
    post_to(&engine->out, frame, data);
}

/* Memory that a name of this process stands for. Names come back from the peer, which is not trusted. */
static unsigned char *memory_at(engine *engine, uint32_t key, uint64_t address, uint64_t len)
{
    if (key >= engine->region_count)
        fail("there is no region %u", key);
    region *region = &engine->regions[key];
    if (address > region->len || len > region->len - address)
        fail("%llu bytes from %llu on are not in region %u", (unsigned long long)len,
             (unsigned long long)address, key);
    return region->begin + address;
}

static unsigned char *memory_of(engine *engine, carrousel_memory memory, uint64_t len)
{
    return memory_at(engine, memory.key, memory.address, len);
}

static unsigned char *window_at(engine *engine, uint64_t offset, uint64_t len)
{
    if (offset > engine->window_memory.len || len > engine->window_memory.len - offset)
        fail("%llu bytes from %llu on are not in the window", (unsigned long long)len,
             (unsigned long long)offset);
    return engine->window_memory.begin + offset;
}

static own *report(engine *engine, const void *data, size_t len)
{
    own *report = calloc(1, sizeof *report + len);
    if (report == NULL)
        fail("out of memory");
    report->len = len;
    if (len > 0)
        memcpy(report->data, data, len);
    *engine->last = report;
    engine->last = &report->next;
    return report;
}

static void report_event(engine *engine, uint32_t kind, carrousel_handle request)
{
    report(engine, NULL, 0)->event = (carrousel_event){.kind = kind, .request = request};
}

static void report_window(engine *engine, carrousel_window_event event)
{
    own *own = report(engine, NULL, 0);
    own->is_of_window = 1;
    own->window_event = event;
}

/* Sends a packet, with the data of an EAGER. */
static void send_packet(engine *engine, uint32_t to, uint16_t context, const carrousel_packet *packet,
                        const void *data, size_t len)
{
    if (to == engine->me) {
        report(engine, data, len)->event = (carrousel_event){
            .kind = CARROUSEL_EVENT_KIND_PACKET, .peer = to, .context = context, .packet = *packet};
        return;
    }
    uint8_t head[CARROUSEL_HEAD_MAX];
    size_t head_len = 0;
    expect(engine, carrousel_packet_encode(context, packet, head, &head_len), "encode");
    frame frame = {.kind = PACKET, .len = head_len + len};
    append(&engine->out, &frame, sizeof frame);
    append(&engine->out, head, head_len);
    append(&engine->out, data, len);
}

static kept *find_kept(engine *engine, const carrousel_kept *name)
{
    for (size_t at = 0; at < KEPT; at++) {
        kept *kept = &engine->kept[at];
        if (name == NULL ? kept->data == NULL
                         : kept->data != NULL && kept->name.from == name->from &&
                               kept->name.context == name->context && kept->name.number == name->number)
            return kept;
    }
    fail("%s", name == NULL ? "too many messages have no receive" : "nothing is kept under this name");
    return NULL;
}

/* Posts behind all that was posted to the window before. */
static void post_of_window(engine *engine, const frame *frame, const void *data)
{
    post_to(engine->is_holding ? &engine->held : &engine->out, frame, data);
}

static void window_work(engine *engine, const carrousel_window_work *work)
{
    switch (work->kind) {
    case CARROUSEL_WINDOW_WORK_KIND_TRANSFER: {
        region *local = &engine->locals[work->transfer.local];
        frame frame = {
            .address = work->transfer.offset, .age = work->operation.age, .place = work->operation.place};
        int is_put = work->transfer.kind == CARROUSEL_TRANSFER_KIND_PUT;
        if (work->transfer.target == engine->me) {
            unsigned char *there = window_at(engine, work->transfer.offset, local->len);
            memcpy(is_put ? there : local->begin, is_put ? local->begin : there, local->len);
            report_window(engine, (carrousel_window_event){.kind = CARROUSEL_WINDOW_EVENT_KIND_COMPLETE,
                                                           .operation = work->operation});
        } else if (is_put) {
            frame.kind = PUT;
            frame.len = local->len;
            post_of_window(engine, &frame, local->begin);
        } else {
            frame.kind = GET;
            frame.wanted = local->len;
            /* The answer says where it goes, so that nothing has to be looked up. */
            frame.value = work->transfer.local;
            engine->gets++;
            post_of_window(engine, &frame, NULL);
        }
        break;
    }
    case CARROUSEL_WINDOW_WORK_KIND_POST:
        if (work->peer == engine->me) {
            report_window(engine, (carrousel_window_event){.kind = CARROUSEL_WINDOW_EVENT_KIND_PACKET,
                                                           .peer = work->peer,
                                                           .packet = work->packet});
        } else {
            engine->is_holding |= work->order == CARROUSEL_ORDER_FENCED && engine->gets > 0;
            frame frame = {.kind = WINDOW_PACKET,
                           .packet = work->packet.kind,
                           .mode = work->packet.mode,
                           .access = work->packet.access};
            post_of_window(engine, &frame, NULL);
        }
        break;
    case CARROUSEL_WINDOW_WORK_KIND_STORE:
        if (work->peer == engine->me)
            report_window(engine, (carrousel_window_event){.kind = CARROUSEL_WINDOW_EVENT_KIND_GRANTED,
                                                           .peer = work->peer,
                                                           .word = work->word,
                                                           .value = work->value});
        else
            post(engine, &(frame){.kind = GRANT, .word = work->word, .value = work->value}, NULL);
        break;
    default:
        fail("the window reports %u of rank %u", work->kind, work->peer);
    }
}

/* Does one thing that the library asks for. */
static void carry_out(engine *engine, const carrousel_work *work)
{
    switch (work->kind) {
    case CARROUSEL_WORK_KIND_SEND: {
        const void *data = work->len > 0 ? memory_of(engine, work->from, work->len) : NULL;
        send_packet(engine, work->peer, work->context, &work->packet, data, work->len);
        break;
    }
    case CARROUSEL_WORK_KIND_WRITE: {
        const unsigned char *from = memory_of(engine, work->from, work->len);
        if (work->peer == engine->me)
            memcpy(memory_of(engine, work->into, work->len), from, work->len);
        else
            post(engine,
                 &(frame){
                     .kind = WRITE, .key = work->into.key, .address = work->into.address, .len = work->len},
                 from);
        if (work->has_packet)
            send_packet(engine, work->peer, work->context, &work->packet, NULL, 0);
        /* The bytes are copied, so that their buffer may be used again. */
        report_event(engine, CARROUSEL_EVENT_KIND_WRITTEN, work->request);
        break;
    }
    case CARROUSEL_WORK_KIND_READ:
        if (work->peer == engine->me) {
            memcpy(memory_of(engine, work->into, work->len), memory_of(engine, work->from, work->len),
                   work->len);
            report_event(engine, CARROUSEL_EVENT_KIND_READ, work->request);
            if (work->has_packet)
                send_packet(engine, work->peer, work->context, &work->packet, NULL, 0);
            break;
        }
        for (size_t at = 0; at < REGIONS; at++) {
            if (engine->readings[at].is_used)
                continue;
            engine->readings[at] = (reading){.is_used = 1, .work = *work};
            post(engine,
                 &(frame){.kind = READ,
                          .key = work->from.key,
                          .address = work->from.address,
                          .value = at,
                          .wanted = work->len},
                 NULL);
            return;
        }
        fail("too many reads at a time");
        break;
    case CARROUSEL_WORK_KIND_PLACE:
        if (work->len > engine->data_len)
            fail("a packet is shorter than its message");
        if (work->len > 0)
            memcpy(memory_of(engine, work->into, work->len), engine->data, work->len);
        break;
    case CARROUSEL_WORK_KIND_KEEP: {
        kept *kept = find_kept(engine, NULL);
        kept->name = work->kept;
        kept->data = malloc(work->len + 1);
        if (kept->data == NULL || work->len > engine->data_len)
            fail("a message cannot be kept");
        if (work->len > 0)
            memcpy(kept->data, engine->data, work->len);
        break;
    }
    case CARROUSEL_WORK_KIND_TAKE: {
        kept *kept = find_kept(engine, &work->kept);
        if (work->len > 0)
            memcpy(memory_of(engine, work->into, work->len), kept->data, work->len);
        free(kept->data);
        kept->data = NULL;
        break;
    }
    case CARROUSEL_WORK_KIND_COPY:
        if (work->len > 0)
            memcpy(memory_of(engine, work->into, work->len), memory_of(engine, work->from, work->len),
                   work->len);
        break;
    case CARROUSEL_WORK_KIND_COMPLETE:
        /* `engine_wait` asks. */
        break;
    case CARROUSEL_WORK_KIND_WINDOW:
        window_work(engine, &work->window_work);
        break;
    default:
        fail("there are no collectives here");
    }
}

static void carry_out_all(engine *engine)
{
    carrousel_work work;
    while (carrousel_rank_next_work(engine->rank, &work) == CARROUSEL_ERROR_NONE)
        carry_out(engine, &work);
}

/* Gives the rank an event, and announces what may be announced after it. */
static void event(engine *engine, const carrousel_event *given)
{
    carrousel_event event = *given;
    do {
        carrousel_trace_event(&engine->trace, &event);
        expect(engine, carrousel_rank_event(engine->rank, &event), "event");
        carry_out_all(engine);
        event = (carrousel_event){.kind = CARROUSEL_EVENT_KIND_ANNOUNCE};
    } while (carrousel_rank_may_announce(engine->rank, &event.request) == CARROUSEL_ERROR_NONE);
}

static void window_event(engine *engine, const carrousel_window_event *event)
{
    expect(engine, carrousel_rank_window_event(engine->rank, engine->window, event), "window event");
    carry_out_all(engine);
}

/* Gives the rank what this process has told itself. */
static void take_own(engine *engine)
{
    while (engine->first != NULL) {
        own *own = engine->first;
        engine->first = own->next;
        if (engine->first == NULL)
            engine->last = &engine->first;
        engine->data = own->data;
        engine->data_len = own->len;
        if (own->is_of_window)
            window_event(engine, &own->window_event);
        else
            event(engine, &own->event);
        free(own);
    }
}

/* Handles one frame of the peer, and the bytes behind it. */
static void take(engine *engine, const frame *got, const unsigned char *data)
{
    uint32_t peer = 1 - engine->me;
    switch (got->kind) {
    case PACKET: {
        carrousel_event packet = {.kind = CARROUSEL_EVENT_KIND_PACKET, .peer = peer};
        size_t body = 0;
        expect(engine,
               carrousel_packet_decode(data, got->len, got->len, &packet.context, &packet.packet, &body),
               "decode");
        engine->data = data + body;
        engine->data_len = got->len - body;
        event(engine, &packet);
        break;
    }
    case WRITE:
        if (got->len > 0)
            memcpy(memory_at(engine, got->key, got->address, got->len), data, got->len);
        break;
    case READ:
        post(engine, &(frame){.kind = READ_DONE, .value = got->value, .len = got->wanted},
             memory_at(engine, got->key, got->address, got->wanted));
        break;
    case READ_DONE: {
        if (got->value >= REGIONS || !engine->readings[got->value].is_used)
            fail("a read is answered that was not asked");
        carrousel_work work = engine->readings[got->value].work;
        engine->readings[got->value].is_used = 0;
        if (got->len != work.len)
            fail("a read is answered with other bytes");
        memcpy(memory_of(engine, work.into, work.len), data, work.len);
        if (work.has_packet)
            send_packet(engine, work.peer, work.context, &work.packet, NULL, 0);
        event(engine, &(carrousel_event){.kind = CARROUSEL_EVENT_KIND_READ, .request = work.request});
        break;
    }
    case PUT:
        memcpy(window_at(engine, got->address, got->len), data, got->len);
        post(engine, &(frame){.kind = OPERATION_DONE, .age = got->age, .place = got->place}, NULL);
        break;
    case GET:
        post(engine,
             &(frame){.kind = OPERATION_DONE,
                      .age = got->age,
                      .place = got->place,
                      .len = got->wanted,
                      .value = got->value},
             window_at(engine, got->address, got->wanted));
        break;
    case OPERATION_DONE:
        if (got->len > 0) {
            if (got->value >= engine->local_count || got->len != engine->locals[got->value].len)
                fail("a get is answered with other bytes");
            memcpy(engine->locals[got->value].begin, data, got->len);
            if (--engine->gets == 0) {
                append(&engine->out, engine->held.all + engine->held.begin,
                       engine->held.end - engine->held.begin);
                engine->held.begin = engine->held.end = 0;
                engine->is_holding = 0;
            }
        }
        window_event(engine, &(carrousel_window_event){.kind = CARROUSEL_WINDOW_EVENT_KIND_COMPLETE,
                                                       .operation = {got->age, got->place}});
        break;
    case WINDOW_PACKET:
        window_event(engine, &(carrousel_window_event){.kind = CARROUSEL_WINDOW_EVENT_KIND_PACKET,
                                                       .peer = peer,
                                                       .packet = {got->packet, got->mode, got->access}});
        break;
    case GRANT:
        window_event(engine, &(carrousel_window_event){.kind = CARROUSEL_WINDOW_EVENT_KIND_GRANTED,
                                                       .peer = peer,
                                                       .word = got->word,
                                                       .value = got->value});
        break;
    default:
        fail("the peer sends a frame of kind %u", got->kind);
    }
}

/* Sends what can be sent, and handles all that has come. Waits for something if `block`. False if the peer is
 * gone. */
static int progress(engine *engine, int block)
{
    take_own(engine);
    bytes *out = &engine->out, *in = &engine->in;
    struct pollfd ready = {.fd = engine->socket, .events = POLLIN};
    if (out->end > out->begin)
        ready.events |= POLLOUT;
    if (poll(&ready, 1, block ? 10000 : 0) == 0 && block)
        fail("nothing has happened for 10 seconds");
    if (ready.revents & POLLOUT) {
        ssize_t sent = send(engine->socket, out->all + out->begin, out->end - out->begin, MSG_NOSIGNAL);
        if (sent > 0)
            out->begin += (size_t)sent;
        else if (sent < 0 && errno != EAGAIN && errno != EINTR)
            return 0;
    }
    if (ready.revents & (POLLIN | POLLHUP | POLLERR)) {
        unsigned char some[64 << 10];
        ssize_t got = recv(engine->socket, some, sizeof some, 0);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
            return 0;
        if (got > 0)
            append(in, some, (size_t)got);
    }
    while (in->end - in->begin >= sizeof(frame)) {
        frame frame;
        memcpy(&frame, in->all + in->begin, sizeof frame);
        if (frame.len > FRAME_MAX || frame.wanted > FRAME_MAX)
            fail("the peer sends a frame of %llu bytes", (unsigned long long)frame.len);
        if (in->end - in->begin - sizeof frame < frame.len)
            break;
        const unsigned char *data = in->all + in->begin + sizeof frame;
        in->begin += sizeof frame + frame.len;
        if (frame.kind >= PUT && !engine->has_window)
            post_to(&engine->early, &frame, data);
        else
            take(engine, &frame, data);
        take_own(engine);
    }
    return 1;
}

/* Waits until the peer has done something more. A peer that goes is lost: what needs it fails, and nothing
 * hangs. */
static void wait_for_peer(engine *engine)
{
    if (engine->socket >= 0 && progress(engine, 1))
        return;
    if (engine->socket < 0)
        fail("the peer is gone");
    close(engine->socket);
    engine->socket = -1;
    event(engine, &(carrousel_event){.kind = CARROUSEL_EVENT_KIND_LOST, .peer = 1 - engine->me});
}

static carrousel_handle call(engine *engine, const carrousel_call *call, const char *file, int line)
{
    uint32_t needed = 0;
    carrousel_handle request;
    expect(engine, carrousel_rank_needs_initial_progress(engine->rank, call, &needed), "call");
    if (needed && engine->socket >= 0)
        progress(engine, 0);
    carrousel_error error = carrousel_rank_call(engine->rank, call, &request);
    if (error != CARROUSEL_ERROR_NONE) {
        char why[256] = "";
        carrousel_rank_error_text(engine->rank, why, sizeof why, NULL);
        carrousel_trace_refused(&engine->trace, call, why, file, (uint32_t)line);
        expect(engine, error, "call");
    }
    carrousel_trace_call(&engine->trace, call, request, file, (uint32_t)line);
    carry_out_all(engine);
    carrousel_event announce = {.kind = CARROUSEL_EVENT_KIND_ANNOUNCE};
    if (carrousel_rank_may_announce(engine->rank, &announce.request) == CARROUSEL_ERROR_NONE)
        event(engine, &announce);
    return request;
}

carrousel_handle engine_send(engine *engine, uint32_t to, uint64_t tag, carrousel_memory buffer, size_t len,
                             const char *file, int line)
{
    carrousel_call send = {
        .kind = CARROUSEL_CALL_KIND_SEND, .peer = to, .tag = tag, .memory = buffer, .len = len};
    return call(engine, &send, file, line);
}

carrousel_handle engine_receive(engine *engine, uint32_t from, uint64_t tag, carrousel_memory buffer,
                                size_t len, const char *file, int line)
{
    carrousel_call receive = {
        .kind = CARROUSEL_CALL_KIND_RECEIVE, .peer = from, .tag = tag, .memory = buffer, .len = len};
    return call(engine, &receive, file, line);
}

carrousel_status engine_wait(engine *engine, carrousel_handle request)
{
    carrousel_status status;
    carrousel_error error;
    take_own(engine);
    while ((error = carrousel_rank_release(engine->rank, request, &status)) == CARROUSEL_ERROR_INCOMPLETE)
        wait_for_peer(engine);
    expect(engine, error, "wait");
    carrousel_trace_release(&engine->trace, request, &status);
    return status;
}

carrousel_memory engine_register(engine *engine, void *buffer, size_t len)
{
    if (engine->region_count == REGIONS)
        fail("too many regions");
    engine->regions[engine->region_count] = (region){.begin = buffer, .len = len};
    return (carrousel_memory){.address = 0, .key = engine->region_count++};
}

static uint32_t window_call(engine *engine, const carrousel_window_call *call, carrousel_handle *request)
{
    uint32_t called = CARROUSEL_CALLED_DONE;
    expect(engine, carrousel_rank_window_call(engine->rank, engine->window, call, &called, request),
           "window call");
    carry_out_all(engine);
    take_own(engine);
    return called;
}

void engine_window_open(engine *engine, carrousel_window_call call)
{
    carrousel_handle request;
    window_call(engine, &call, &request);
}

void engine_window_close(engine *engine, carrousel_window_call call)
{
    carrousel_handle request;
    carrousel_status status;
    carrousel_error error;
    switch (window_call(engine, &call, &request)) {
    case CARROUSEL_CALLED_REQUEST:
        while ((error = carrousel_rank_release(engine->rank, request, &status)) == CARROUSEL_ERROR_INCOMPLETE)
            wait_for_peer(engine);
        expect(engine, error, "close");
        if (status.failure != CARROUSEL_FAILURE_NONE)
            fail("an epoch has failed: its peer is gone");
        break;
    case CARROUSEL_CALLED_FLUSH:
        while ((error = carrousel_rank_is_flushed(engine->rank, engine->window, call.target,
                                                  call.is_local)) == CARROUSEL_ERROR_INCOMPLETE)
            wait_for_peer(engine);
        expect(engine, error, "flush");
        break;
    default:
        break;
    }
}

void engine_window(engine *engine, void *memory, size_t len)
{
    engine->window_memory = (region){.begin = memory, .len = len};
    expect(engine, carrousel_rank_create_window(engine->rank, NULL, &engine->window), "window");
    engine->has_window = 1;
    bytes *early = &engine->early;
    while (early->begin < early->end) {
        frame frame;
        memcpy(&frame, early->all + early->begin, sizeof frame);
        early->begin += sizeof frame + frame.len;
        take(engine, &frame, early->all + early->begin - frame.len);
    }
}

static void transfer(engine *engine, uint32_t kind, uint32_t target, size_t offset, void *local, size_t len)
{
    if (engine->local_count == OPERATIONS)
        fail("too many operations");
    engine->locals[engine->local_count] = (region){.begin = local, .len = len};
    carrousel_window_call call = {.kind = CARROUSEL_WINDOW_CALL_KIND_TRANSFER,
                                  .transfer = {.target = target,
                                               .kind = kind,
                                               .offset = offset,
                                               .len = len,
                                               .count = 1,
                                               .stride = len,
                                               .local = engine->local_count++}};
    engine_window_open(engine, call);
}

void engine_put(engine *engine, uint32_t target, size_t offset, const void *from, size_t len)
{
    /* The engine writes to the local buffers of gets only. */
    transfer(engine, CARROUSEL_TRANSFER_KIND_PUT, target, offset, (void *)(uintptr_t)from, len);
}

void engine_get(engine *engine, uint32_t target, size_t offset, void *into, size_t len)
{
    transfer(engine, CARROUSEL_TRANSFER_KIND_GET, target, offset, into, len);
}

static int connected(uint32_t me, uint16_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    for (int tries = 0; tries < 1000; tries++) {
        int here = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
        if (here < 0)
            fail("socket: %s", strerror(errno));
        if (me == 0) {
            setsockopt(here, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
            if (bind(here, (struct sockaddr *)&address, sizeof address) < 0 || listen(here, 1) < 0)
                fail("port %u: %s", port, strerror(errno));
            struct pollfd ready = {.fd = here, .events = POLLIN};
            if (poll(&ready, 1, 10000) != 1)
                fail("the peer does not connect");
            int peer = accept(here, NULL, NULL);
            close(here);
            return peer;
        }
        if (connect(here, (struct sockaddr *)&address, sizeof address) == 0)
            return here;
        close(here);
        nanosleep(&pause, NULL);
    }
    fail("the peer does not listen");
    return -1;
}

engine *engine_open(uint32_t me, uint16_t port, int count, char **arguments)
{
    engine *engine = calloc(1, sizeof *engine);
    carrousel_options options;
    if (engine == NULL)
        fail("out of memory");
    if (carrousel_abi_version() != CARROUSEL_ABI_VERSION)
        fail("this program needs another version of the library");
    engine->me = me;
    engine->last = &engine->first;
    carrousel_options_default(&options);
    carrousel_error error =
        carrousel_rank_create(CARROUSEL_ABI_VERSION, NULL, me, 2, &options, &engine->rank);
    if (error != CARROUSEL_ERROR_NONE)
        fail("rank: %s", carrousel_error_text(error));
    const char *directory = getenv("CARROUSEL_TRACE");
    if (directory != NULL &&
        carrousel_trace_begin(&engine->trace, directory, me, 2, &options, count, arguments) != 0)
        fail("%s: %s", directory, strerror(errno));
    int yes = 1;
    engine->socket = connected(me, port);
    setsockopt(engine->socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (fcntl(engine->socket, F_SETFL, O_NONBLOCK) < 0)
        fail("socket: %s", strerror(errno));
    return engine;
}

void engine_close(engine *engine)
{
    /* Both have all that they waited for. What is left to be sent is sent, and what is left to come is taken,
     * so that the trace of each has what the other was told. */
    while (engine->socket >= 0 && engine->out.end > engine->out.begin && progress(engine, 1))
        ;
    if (engine->socket >= 0) {
        shutdown(engine->socket, SHUT_WR);
        while (progress(engine, 1))
            ;
        close(engine->socket);
    }
    if (getenv("CARROUSEL_TRACE") != NULL && carrousel_trace_end(&engine->trace, 1) != 0)
        fail("the trace could not be written");
    expect(engine, carrousel_rank_free(&engine->rank), "free");
    for (size_t at = 0; at < KEPT; at++)
        free(engine->kept[at].data);
    free(engine->out.all);
    free(engine->in.all);
    free(engine->held.all);
    free(engine->early.all);
    free(engine);
}
