/* Writes the trace of a rank: the inputs of `carrousel.h`, as `carrousel check DIRECTORY` reads them.
 *
 * A host that records every input of its ranks has its runs checked by the model that `carrousel verify`
 * explores: whether what its network did is allowed, and whether each answer of the library is the
 * protocol's. `docs/trace.md` describes the format. A trace holds no data of messages.
 *
 * - `carrousel_trace_begin` makes `DIRECTORY/rank-N.jsonl`; the directory has to be there, without parts of
 * an older trace. The rank must not have had any input before. Where the ranks of a process are its own numbers
 * for its peers, `carrousel_trace_begin_endpoint` makes `DIRECTORY/endpoint-P-N.jsonl`, and
 * `carrousel_trace_peer` records whose a number is, before the first record that has it.
 * - Each input is recorded in the order in which the rank gets it: a call with its answer, an event, a
 * release that was not refused, and each probe and claim that has found a message.
 * - `carrousel_trace_end` ends the part. Without it the part counts as cut short.
 *
 * An error of writing is kept: the functions do nothing from then on, and `carrousel_trace_end` tells it.
 * Calls on windows have no records yet: they open requests that the replay does not know, so trace what
 * comes before the first window.
 */

#ifndef CARROUSEL_TRACE_H
#define CARROUSEL_TRACE_H

#include "carrousel.h"

#include <inttypes.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the format. */
#define CARROUSEL_TRACE_VERSION 5

/* The room for the path of a part. */
#define CARROUSEL_TRACE_PATH 4096

/* A part that is being written. Its fields are this header's. */
typedef struct carrousel_trace {
    FILE *file;
    /* The CRC-32 of all lines so far. */
    uint32_t crc;
} carrousel_trace;

/* The CRC-32 behind more bytes (that of Ethernet and zlib, without its last inversion). */
static inline uint32_t carrousel_trace_crc(uint32_t crc, const char *text)
{
    for (; *text != '\0'; text++) {
        crc ^= (unsigned char)*text;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (UINT32_C(0xedb88320) & (0u - (crc & 1)));
    }
    return crc;
}

/* Appends text to a line, which the check value covers. */
static inline void carrousel_trace_put(carrousel_trace *trace, const char *text)
{
    if (trace->file == NULL)
        return;
    trace->crc = carrousel_trace_crc(trace->crc, text);
    fputs(text, trace->file);
}

static inline void carrousel_trace_number(carrousel_trace *trace, const char *name, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    carrousel_trace_put(trace, name);
    carrousel_trace_put(trace, text);
}

/* A string of JSON. What is not ASCII is replaced, so that the line is text whatever the string is. */
static inline void carrousel_trace_string(carrousel_trace *trace, const char *text)
{
    carrousel_trace_put(trace, "\"");
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        char one[8];
        if (byte == '"' || byte == '\\')
            snprintf(one, sizeof one, "\\%c", byte);
        else if (byte < 0x20)
            snprintf(one, sizeof one, "\\u%04x", byte);
        else
            snprintf(one, sizeof one, "%c", byte < 0x7f ? byte : '?');
        carrousel_trace_put(trace, one);
    }
    carrousel_trace_put(trace, "\"");
}

/* Ends a line whose last brace is not written yet: the check value comes before that brace, and does not
 * cover itself. */
static inline void carrousel_trace_line(carrousel_trace *trace)
{
    if (trace->file == NULL)
        return;
    trace->crc = carrousel_trace_crc(trace->crc, "}\n");
    fprintf(trace->file, ",\"crc32\":\"%08" PRIx32 "\"}\n", ~trace->crc);
    if (ferror(trace->file)) {
        fclose(trace->file);
        trace->file = NULL;
    }
}

static inline void carrousel_trace_handle(carrousel_trace *trace, const char *name, carrousel_handle handle)
{
    carrousel_trace_put(trace, name);
    carrousel_trace_number(trace, "{\"index\":", handle.index);
    carrousel_trace_number(trace, ",\"generation\":", handle.generation);
    carrousel_trace_put(trace, "}");
}

static inline void carrousel_trace_memory(carrousel_trace *trace, const char *name, carrousel_memory memory)
{
    carrousel_trace_put(trace, name);
    carrousel_trace_number(trace, "{\"address\":", memory.address);
    carrousel_trace_number(trace, ",\"key\":", memory.key);
    carrousel_trace_put(trace, "}");
}

static inline void carrousel_trace_source(carrousel_trace *trace, const char *name, uint32_t source)
{
    carrousel_trace_put(trace, name);
    if (source == CARROUSEL_ANY_SOURCE) {
        carrousel_trace_put(trace, "\"any\"");
    } else {
        carrousel_trace_number(trace, "{\"rank\":", source);
        carrousel_trace_put(trace, "}");
    }
}

static inline void carrousel_trace_selector(carrousel_trace *trace, const char *name, uint64_t tag,
                                            uint64_t ignore)
{
    carrousel_trace_put(trace, name);
    carrousel_trace_number(trace, "{\"tag\":", tag & ~ignore);
    if (ignore != 0)
        carrousel_trace_number(trace, ",\"ignore\":", ignore);
    carrousel_trace_put(trace, "}");
}

static inline void carrousel_trace_data(carrousel_trace *trace, uint32_t has_data, uint64_t data)
{
    if (has_data)
        carrousel_trace_number(trace, ",\"data\":", data);
}

/* An endpoint whose peers have no ranks that all processes know: it numbers them itself. */
typedef struct carrousel_trace_endpoint {
    /* By which its peers name it; no other endpoint has it. */
    const char *address;
    /* The process, by its number at its node, and which of its endpoints this is, from 0. */
    uint32_t process, number;
    /* What the launcher calls the process; with `host_ranks` 0 nothing is said of that. `job` may be null. */
    const char *job;
    uint32_t host_rank, host_ranks;
} carrousel_trace_endpoint;

/* For `carrousel_trace_begin` and `carrousel_trace_begin_endpoint`. */
static inline int carrousel_trace_open(carrousel_trace *trace, const char *path, int length, uint32_t rank,
                                       uint32_t ranks, const carrousel_trace_endpoint *endpoint,
                                       const carrousel_options *options, int count, char **arguments)
{
    static const char *const speculations[] = {"off", "always", "adaptive"};
    static const char *const transfers[] = {"read", "write"};
    trace->crc = UINT32_MAX;
    trace->file = NULL;
    if (length < 0 || length >= CARROUSEL_TRACE_PATH)
        return -1;
    trace->file = fopen(path, "w");
    if (trace->file == NULL)
        return -1;
    carrousel_trace_number(trace, "{\"carrousel_trace\":", CARROUSEL_TRACE_VERSION);
    carrousel_trace_number(trace, ",\"rank\":", rank);
    carrousel_trace_number(trace, ",\"ranks\":", ranks);
    if (endpoint != NULL) {
        carrousel_trace_put(trace, ",\"endpoint\":{\"address\":");
        carrousel_trace_string(trace, endpoint->address);
        carrousel_trace_number(trace, ",\"process\":", endpoint->process);
        if (endpoint->host_ranks != 0) {
            carrousel_trace_put(trace, ",\"host\":{");
            if (endpoint->job != NULL) {
                carrousel_trace_put(trace, "\"job\":");
                carrousel_trace_string(trace, endpoint->job);
                carrousel_trace_put(trace, ",");
            }
            carrousel_trace_number(trace, "\"rank\":", endpoint->host_rank);
            carrousel_trace_number(trace, ",\"ranks\":", endpoint->host_ranks);
            carrousel_trace_put(trace, "}");
        }
        carrousel_trace_put(trace, "}");
    }
    carrousel_trace_put(trace, ",\"command\":[");
    for (int at = 0; at < count; at++) {
        if (at > 0)
            carrousel_trace_put(trace, ",");
        carrousel_trace_string(trace, arguments[at]);
    }
    carrousel_trace_number(trace, "],\"options\":{\"eager_threshold\":", options->eager_threshold);
    carrousel_trace_number(trace, ",\"eager_window\":", options->eager_window);
    carrousel_trace_put(trace, ",\"speculation\":");
    carrousel_trace_string(trace, speculations[options->speculation % 3]);
    carrousel_trace_put(trace, ",\"transfer\":");
    carrousel_trace_string(trace, transfers[options->transfer % 2]);
    carrousel_trace_number(trace, ",\"rtr_limit\":", options->rtr_limit);
    carrousel_trace_number(trace, ",\"credit_every\":", options->credit_every);
    carrousel_trace_put(trace, "}");
    carrousel_trace_line(trace);
    return trace->file == NULL ? -1 : 0;
}

/* Begins the part of a rank. `arguments` are those of the program, for people; there may be none. Returns 0,
 * or -1 with errno. */
static inline int carrousel_trace_begin(carrousel_trace *trace, const char *directory, uint32_t rank,
                                        uint32_t ranks, const carrousel_options *options, int count,
                                        char **arguments)
{
    char path[CARROUSEL_TRACE_PATH];
    int length = snprintf(path, sizeof path, "%s/rank-%" PRIu32 ".jsonl", directory, rank);
    return carrousel_trace_open(trace, path, length, rank, ranks, NULL, options, count, arguments);
}

/* Begins the part of an endpoint. `rank` is its number for itself, `ranks` how many numbers it can give. */
static inline int carrousel_trace_begin_endpoint(carrousel_trace *trace, const char *directory, uint32_t rank,
                                                 uint32_t ranks, const carrousel_trace_endpoint *endpoint,
                                                 const carrousel_options *options, int count, char **arguments)
{
    char path[CARROUSEL_TRACE_PATH];
    int length = snprintf(path, sizeof path, "%s/endpoint-%" PRIu32 "-%" PRIu32 ".jsonl", directory,
                          endpoint->process, endpoint->number);
    return carrousel_trace_open(trace, path, length, rank, ranks, endpoint, options, count, arguments);
}

/* Records that an endpoint has given a peer a number. */
static inline void carrousel_trace_peer(carrousel_trace *trace, uint32_t rank, const char *address)
{
    carrousel_trace_number(trace, "{\"peer\":{\"rank\":", rank);
    carrousel_trace_put(trace, ",\"address\":");
    carrousel_trace_string(trace, address);
    carrousel_trace_put(trace, "}");
    carrousel_trace_line(trace);
}

static inline void carrousel_trace_of_call(carrousel_trace *trace, const carrousel_call *call)
{
    static const char *const collectives[] = {"",           "barrier", "broadcast",  "reduce",
                                              "all_reduce", "gather",  "all_gather", "all_to_all"};
    switch (call->kind) {
    case CARROUSEL_CALL_KIND_SEND:
        carrousel_trace_number(trace, "{\"send\":{\"to\":", call->peer);
        carrousel_trace_number(trace, ",\"tag\":", call->tag);
        carrousel_trace_number(trace, ",\"communicator\":", call->communicator);
        carrousel_trace_number(trace, ",\"len\":", call->len);
        carrousel_trace_memory(trace, ",\"memory\":", call->memory);
        carrousel_trace_put(trace, call->synchronous ? ",\"synchronous\":true" : ",\"synchronous\":false");
        carrousel_trace_data(trace, call->has_data, call->data);
        carrousel_trace_put(trace, "}}");
        break;
    case CARROUSEL_CALL_KIND_RECEIVE:
        carrousel_trace_source(trace, "{\"receive\":{\"from\":", call->peer);
        carrousel_trace_selector(trace, ",\"tag\":", call->tag, call->ignore);
        carrousel_trace_number(trace, ",\"communicator\":", call->communicator);
        carrousel_trace_number(trace, ",\"len\":", call->len);
        carrousel_trace_memory(trace, ",\"memory\":", call->memory);
        carrousel_trace_put(trace, "}}");
        break;
    case CARROUSEL_CALL_KIND_COLLECTIVE:
        carrousel_trace_put(trace, "{\"collective\":{\"kind\":");
        carrousel_trace_string(trace, collectives[call->collective % 8]);
        carrousel_trace_number(trace, ",\"communicator\":", call->communicator);
        carrousel_trace_number(trace, ",\"root\":", call->root);
        carrousel_trace_number(trace, ",\"element\":", call->element);
        carrousel_trace_number(trace, ",\"len\":", call->len);
        carrousel_trace_memory(trace, ",\"source\":", call->source);
        carrousel_trace_memory(trace, ",\"target\":", call->target);
        carrousel_trace_memory(trace, ",\"scratch\":", call->scratch);
        carrousel_trace_put(trace, "}}");
        break;
    case CARROUSEL_CALL_KIND_RECEIVE_CLAIMED:
        carrousel_trace_handle(trace, "{\"receive_claimed\":{\"message\":", call->request);
        carrousel_trace_number(trace, ",\"len\":", call->len);
        carrousel_trace_memory(trace, ",\"memory\":", call->memory);
        carrousel_trace_put(trace, "}}");
        break;
    case CARROUSEL_CALL_KIND_DISCARD:
        carrousel_trace_handle(trace, "{\"discard\":", call->request);
        carrousel_trace_put(trace, "}");
        break;
    default:
        carrousel_trace_handle(trace, "{\"cancel\":", call->request);
        carrousel_trace_put(trace, "}");
        break;
    }
}

/* Records a call that was not refused, and the request that it got. `file` and `line` say where the
 * application has called; without a file nothing is said. */
static inline void carrousel_trace_call(carrousel_trace *trace, const carrousel_call *call,
                                        carrousel_handle request, const char *file, uint32_t line)
{
    carrousel_trace_put(trace, "{\"call\":{\"call\":");
    carrousel_trace_of_call(trace, call);
    carrousel_trace_handle(trace, ",\"answer\":{\"request\":", request);
    carrousel_trace_put(trace, "}");
    if (file != NULL) {
        carrousel_trace_put(trace, ",\"file\":");
        carrousel_trace_string(trace, file);
        carrousel_trace_number(trace, ",\"line\":", line);
    }
    carrousel_trace_put(trace, "}");
    carrousel_trace_line(trace);
}

/* Records a call that the rank has refused: `why` is the text of `carrousel_rank_error_text`. A call that is
 * refused for what only C can do wrong (null, a number that means nothing) is none of the protocol, and has
 * no record. */
static inline void carrousel_trace_refused(carrousel_trace *trace, const carrousel_call *call,
                                           const char *why, const char *file, uint32_t line)
{
    carrousel_trace_put(trace, "{\"call\":{\"call\":");
    carrousel_trace_of_call(trace, call);
    carrousel_trace_put(trace, ",\"answer\":{\"refused\":");
    carrousel_trace_string(trace, why);
    carrousel_trace_put(trace, "}");
    if (file != NULL) {
        carrousel_trace_put(trace, ",\"file\":");
        carrousel_trace_string(trace, file);
        carrousel_trace_number(trace, ",\"line\":", line);
    }
    carrousel_trace_put(trace, "}");
    carrousel_trace_line(trace);
}

static inline void carrousel_trace_of_message(carrousel_trace *trace, const carrousel_packet *packet)
{
    carrousel_trace_number(trace, "\"tag\":", packet->tag);
    carrousel_trace_data(trace, packet->has_data, packet->data);
    carrousel_trace_number(trace, ",\"len\":", packet->len);
}

static inline void carrousel_trace_of_rtr(carrousel_trace *trace, const char *name,
                                          const carrousel_packet *packet)
{
    carrousel_trace_put(trace, name);
    carrousel_trace_handle(trace, "{\"rtr\":{\"receive\":", packet->receive);
    carrousel_trace_number(trace, ",\"index\":", packet->index);
    carrousel_trace_put(trace, "}");
}

static inline void carrousel_trace_of_packet(carrousel_trace *trace, const carrousel_packet *packet)
{
    static const char *const hints[] = {"none", "stop_rtr", "resume_rtr", "unused"};
    switch (packet->kind) {
    case CARROUSEL_PACKET_KIND_EAGER:
        carrousel_trace_put(trace, "{\"eager\":{");
        carrousel_trace_of_message(trace, packet);
        break;
    case CARROUSEL_PACKET_KIND_RTS:
        carrousel_trace_put(trace, "{\"rts\":{");
        carrousel_trace_of_message(trace, packet);
        carrousel_trace_handle(trace, ",\"send\":", packet->send);
        carrousel_trace_memory(trace, ",\"memory\":", packet->memory);
        carrousel_trace_put(trace, ",\"hint\":");
        carrousel_trace_string(trace, hints[packet->hint % 4]);
        break;
    case CARROUSEL_PACKET_KIND_FIN:
    case CARROUSEL_PACKET_KIND_RTR_ACK:
        carrousel_trace_of_rtr(
            trace, packet->kind == CARROUSEL_PACKET_KIND_FIN ? "{\"fin\":" : "{\"rtr_ack\":", packet);
        carrousel_trace_put(trace, ",");
        carrousel_trace_of_message(trace, packet);
        break;
    case CARROUSEL_PACKET_KIND_ATP:
        carrousel_trace_handle(trace, "{\"atp\":{\"receive\":", packet->receive);
        break;
    case CARROUSEL_PACKET_KIND_CANCEL_ACK:
        carrousel_trace_of_rtr(trace, "{\"cancel_ack\":", packet);
        break;
    case CARROUSEL_PACKET_KIND_RTR:
        carrousel_trace_selector(trace, "{\"rtr\":{\"tag\":", packet->tag, packet->ignore);
        carrousel_trace_number(trace, ",\"seen\":", packet->seen);
        carrousel_trace_number(trace, ",\"ahead\":", packet->ahead);
        carrousel_trace_handle(trace, ",\"receive\":", packet->receive);
        carrousel_trace_number(trace, ",\"len\":", packet->len);
        carrousel_trace_memory(trace, ",\"memory\":", packet->memory);
        break;
    case CARROUSEL_PACKET_KIND_ATS:
        carrousel_trace_handle(trace, "{\"ats\":{\"send\":", packet->send);
        break;
    case CARROUSEL_PACKET_KIND_RTS_ACK:
        carrousel_trace_handle(trace, "{\"rts_ack\":{\"send\":", packet->send);
        break;
    case CARROUSEL_PACKET_KIND_CTS:
        carrousel_trace_handle(trace, "{\"cts\":{\"send\":", packet->send);
        carrousel_trace_handle(trace, ",\"receive\":", packet->receive);
        carrousel_trace_number(trace, ",\"len\":", packet->len);
        carrousel_trace_memory(trace, ",\"memory\":", packet->memory);
        break;
    case CARROUSEL_PACKET_KIND_CANCEL:
        carrousel_trace_of_rtr(trace, "{\"cancel\":", packet);
        break;
    default:
        carrousel_trace_number(trace, "{\"ack\":{\"seen\":", packet->seen);
        carrousel_trace_number(trace, ",\"taken\":", packet->taken);
        break;
    }
    carrousel_trace_put(trace, "}}");
}

/* Records an event. */
static inline void carrousel_trace_event(carrousel_trace *trace, const carrousel_event *event)
{
    switch (event->kind) {
    case CARROUSEL_EVENT_KIND_PACKET:
        carrousel_trace_number(trace, "{\"event\":{\"packet\":{\"from\":", event->peer);
        carrousel_trace_number(trace, ",\"context\":", event->context);
        carrousel_trace_put(trace, ",\"packet\":");
        carrousel_trace_of_packet(trace, &event->packet);
        carrousel_trace_put(trace, "}");
        break;
    case CARROUSEL_EVENT_KIND_WRITTEN:
        carrousel_trace_handle(trace, "{\"event\":{\"written\":", event->request);
        break;
    case CARROUSEL_EVENT_KIND_READ:
        carrousel_trace_handle(trace, "{\"event\":{\"read\":", event->request);
        break;
    case CARROUSEL_EVENT_KIND_ANNOUNCE:
        carrousel_trace_handle(trace, "{\"event\":{\"announce\":", event->request);
        break;
    default:
        carrousel_trace_number(trace, "{\"event\":{\"lost\":", event->peer);
        break;
    }
    carrousel_trace_put(trace, "}");
    carrousel_trace_line(trace);
}

/* Records that a complete request was released, and what the application was told. */
static inline void carrousel_trace_release(carrousel_trace *trace, carrousel_handle request,
                                           const carrousel_status *status)
{
    carrousel_trace_handle(trace, "{\"release\":{\"request\":", request);
    carrousel_trace_put(trace, ",\"status\":{");
    if (status->has_message) {
        carrousel_trace_number(trace, "\"message\":[", status->source);
        carrousel_trace_number(trace, ",", status->tag);
        carrousel_trace_put(trace, "],");
    }
    if (status->has_data) {
        carrousel_trace_number(trace, "\"data\":", status->data);
        carrousel_trace_put(trace, ",");
    }
    carrousel_trace_number(trace, "\"len\":", status->len);
    if (status->failure == CARROUSEL_FAILURE_TRUNCATED) {
        carrousel_trace_number(trace, ",\"failure\":{\"truncated\":{\"sent\":", status->failure_value);
        carrousel_trace_put(trace, "}}");
    } else if (status->failure == CARROUSEL_FAILURE_CANCELLED) {
        carrousel_trace_put(trace, ",\"failure\":\"cancelled\"");
    } else if (status->failure == CARROUSEL_FAILURE_PEER_LOST) {
        carrousel_trace_number(trace, ",\"failure\":{\"peer_lost\":", status->failure_value);
        carrousel_trace_put(trace, "}");
    }
    carrousel_trace_put(trace, "}}");
    carrousel_trace_line(trace);
}

static inline void carrousel_trace_found(carrousel_trace *trace, const carrousel_pattern *pattern,
                                         const carrousel_arrived *found)
{
    carrousel_trace_source(trace, "\"pattern\":{\"source\":", pattern->source);
    carrousel_trace_selector(trace, ",\"tag\":", pattern->tag, pattern->ignore);
    carrousel_trace_number(trace, ",\"context\":", pattern->context);
    carrousel_trace_number(trace, "},\"envelope\":{\"source\":", found->envelope.source);
    carrousel_trace_number(trace, ",\"tag\":", found->envelope.tag);
    carrousel_trace_number(trace, ",\"context\":", found->envelope.context);
    carrousel_trace_put(trace, "}");
    carrousel_trace_data(trace, found->has_data, found->data);
    carrousel_trace_number(trace, ",\"len\":", found->len);
    carrousel_trace_put(trace, "}");
    carrousel_trace_line(trace);
}

/* Records a probe that has found a message. */
static inline void carrousel_trace_probe(carrousel_trace *trace, const carrousel_pattern *pattern,
                                         const carrousel_arrived *found)
{
    carrousel_trace_put(trace, "{\"probe\":{");
    carrousel_trace_found(trace, pattern, found);
}

/* Records a claim that has found a message, and the request that has it now. */
static inline void carrousel_trace_claim(carrousel_trace *trace, carrousel_handle request,
                                         const carrousel_pattern *pattern, const carrousel_arrived *found)
{
    carrousel_trace_handle(trace, "{\"claim\":{\"request\":", request);
    carrousel_trace_put(trace, ",");
    carrousel_trace_found(trace, pattern, found);
}

/* Records that a communicator was defined. */
static inline void carrousel_trace_define(carrousel_trace *trace, uint32_t communicator,
                                          const uint32_t *members, size_t len)
{
    carrousel_trace_number(trace, "{\"define\":{\"communicator\":", communicator);
    carrousel_trace_put(trace, ",\"members\":[");
    for (size_t at = 0; at < len; at++)
        carrousel_trace_number(trace, at > 0 ? "," : "", members[at]);
    carrousel_trace_put(trace, "]}");
    carrousel_trace_line(trace);
}

/* Records that a communicator was forgotten. */
static inline void carrousel_trace_forget(carrousel_trace *trace, uint32_t communicator)
{
    carrousel_trace_number(trace, "{\"forget\":{\"communicator\":", communicator);
    carrousel_trace_put(trace, "}");
    carrousel_trace_line(trace);
}

/* Hands what was recorded to the system, so that it survives the process. */
static inline void carrousel_trace_flush(carrousel_trace *trace)
{
    if (trace->file != NULL)
        fflush(trace->file);
}

/* Ends the part: `finalized` if the process has left its job. Returns 0, or -1 if the part could not be
 * written. */
static inline int carrousel_trace_end(carrousel_trace *trace, int finalized)
{
    carrousel_trace_put(trace, finalized ? "{\"end\":\"finalized\"" : "{\"end\":\"left\"");
    carrousel_trace_line(trace);
    if (trace->file == NULL)
        return -1;
    int closed = fclose(trace->file);
    trace->file = NULL;
    return closed == 0 ? 0 : -1;
}

#ifdef __cplusplus
}
#endif

#endif
