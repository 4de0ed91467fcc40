/* The pure protocols of Carrousel, for hosts that bring their own memory and network.
 *
 * Generated of the crate `carrousel-ffi`; `cargo test -p carrousel-ffi --test header` says how. `docs/embedding.md` explains it.
 *
 * - A pointer is null or points to what its type says. One thread at a time uses an object; different objects share nothing.
 * - The library calls nothing but the allocator that an object was made with. It keeps no pointer of the host's.
 * - All work of an input is taken, and done in this order, before the next input.
 * - Every function that can be refused returns an error; a refused one has changed nothing.
 */

#ifndef CARROUSEL_H
#define CARROUSEL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// The version of this interface. A host gives it to each function that makes an object.
#define CARROUSEL_ABI_VERSION 1

// A receive from any source (`MPI_ANY_SOURCE`).
#define CARROUSEL_ANY_SOURCE UINT32_MAX

// The communicator of all ranks of the job.
#define CARROUSEL_WORLD 0

// Bytes of the longest head: room for it is enough for any packet without its data.
#define CARROUSEL_HEAD_MAX 56

// Size classes: class k is from k KiB on, the last one has all larger messages.
#define CARROUSEL_CLASSES 9

// A flush of all targets.
#define CARROUSEL_ALL_TARGETS UINT32_MAX

// The result of a call. Unless it is `NONE`, `EMPTY` or `FAILED`, the call has changed nothing.
enum carrousel_error
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // The call is done.
    CARROUSEL_ERROR_NONE = 0,
    // There is nothing to be told: no work is left, no message matches, no receive may be announced.
    CARROUSEL_ERROR_EMPTY = 1,
    // A pointer that has to point to something is null.
    CARROUSEL_ERROR_NULL_POINTER = 2,
    // The host was built with the header of another version.
    CARROUSEL_ERROR_WRONG_ABI = 3,
    // The pointer is not of an object of this kind, or of one that was freed.
    CARROUSEL_ERROR_WRONG_OBJECT = 4,
    // The object is in use: the host calls it from its own allocator, or from another thread.
    CARROUSEL_ERROR_BUSY = 5,
    // A mistake of this library: the object must not be used any more, only freed.
    CARROUSEL_ERROR_FAILED = 6,
    // The host's allocator gives no memory.
    CARROUSEL_ERROR_OUT_OF_MEMORY = 7,
    // The work of the call or event before is not taken yet: all of it comes before the next input.
    CARROUSEL_ERROR_WORK_LEFT = 8,
    // A field has a value that means nothing.
    CARROUSEL_ERROR_UNKNOWN_VALUE = 9,
    // An array or a text has an impossible length, or does not fit.
    CARROUSEL_ERROR_WRONG_LENGTH = 10,
    // There is no such rank in the job (`MPI_ERR_RANK`).
    CARROUSEL_ERROR_NO_SUCH_RANK = 11,
    // A request is not open: it never was, or was released (`MPI_ERR_REQUEST`).
    CARROUSEL_ERROR_NO_SUCH_REQUEST = 12,
    // Only receives can be cancelled.
    CARROUSEL_ERROR_NOT_A_RECEIVE = 13,
    // The request has no claimed message, or it was received or discarded.
    CARROUSEL_ERROR_NOT_CLAIMED = 14,
    // The communicator is not defined (`MPI_ERR_COMM`).
    CARROUSEL_ERROR_NO_SUCH_COMMUNICATOR = 15,
    // The communicator is defined already.
    CARROUSEL_ERROR_ALREADY_DEFINED = 16,
    // The communicator is in use.
    CARROUSEL_ERROR_IN_USE = 17,
    // This rank is no member of the communicator that it defines (`MPI_ERR_GROUP`).
    CARROUSEL_ERROR_NOT_A_MEMBER = 18,
    // A rank is a member twice.
    CARROUSEL_ERROR_MEMBER_TWICE = 19,
    // The collective contradicts itself (`MPI_ERR_ROOT`, `MPI_ERR_COUNT`).
    CARROUSEL_ERROR_WRONG_COLLECTIVE = 20,
    // There is no such window (`MPI_ERR_WIN`).
    CARROUSEL_ERROR_NO_SUCH_WINDOW = 21,
    // The open epochs do not admit the call (`MPI_ERR_RMA_SYNC`).
    CARROUSEL_ERROR_WRONG_EPOCH = 22,
    // The request is not complete yet.
    CARROUSEL_ERROR_INCOMPLETE = 23,
    // An event that no correct peer or driver causes: a packet or a completion that cannot be.
    CARROUSEL_ERROR_IMPOSSIBLE_EVENT = 24,
    // Bytes of a peer that are no packet.
    CARROUSEL_ERROR_NO_PACKET = 25,
    // A request or release that the lock refuses.
    CARROUSEL_ERROR_WRONG_LOCK = 26,
    // The registration does not exist, is not held, or was not asked for.
    CARROUSEL_ERROR_WRONG_REGION = 27,
    // The end of a flow is not in a state that admits the call.
    CARROUSEL_ERROR_WRONG_STATE = 28,
    // A peer of the epoch, operation or flush has died.
    CARROUSEL_ERROR_PEER_LOST = 29,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum carrousel_error carrousel_error;
#else
typedef uint32_t carrousel_error;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// An access to a word.
enum carrousel_access_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Load it (acquire).
    CARROUSEL_ACCESS_KIND_LOAD = 1,
    // Store `value` (release).
    CARROUSEL_ACCESS_KIND_STORE = 2,
    // Add 1, modulo 2^64, and answer with the value before (of NEXT acquire and release, of others release).
    CARROUSEL_ACCESS_KIND_INCREMENT = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum carrousel_access_kind carrousel_access_kind;
#else
typedef uint32_t carrousel_access_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What the application asks for.
enum carrousel_call_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Send a message: `peer`, `communicator`, `tag`, `len`, `memory`, `synchronous`, `has_data`, `data`.
    CARROUSEL_CALL_KIND_SEND = 1,
    // Post a receive: `peer` or any, `communicator`, `tag`, `ignore`, `len`, `memory`.
    CARROUSEL_CALL_KIND_RECEIVE = 2,
    // Enter a collective: `collective`, `communicator`, `root`, `element`, `len`, `source`, `target`,
    // `scratch`.
    CARROUSEL_CALL_KIND_COLLECTIVE = 3,
    // Receive a claimed message: `request`, `len`, `memory`.
    CARROUSEL_CALL_KIND_RECEIVE_CLAIMED = 4,
    // Discard a claimed message: `request`.
    CARROUSEL_CALL_KIND_DISCARD = 5,
    // Cancel a receive that has no message yet: `request`, which completes in any case.
    CARROUSEL_CALL_KIND_CANCEL = 6,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum carrousel_call_kind carrousel_call_kind;
#else
typedef uint32_t carrousel_call_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What a call on a window has left to wait for.
enum carrousel_called
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Nothing.
    CARROUSEL_CALLED_DONE = 0,
    // The request, which may be complete already.
    CARROUSEL_CALLED_REQUEST = 1,
    // `carrousel_rank_is_flushed`, with the target of the call.
    CARROUSEL_CALLED_FLUSH = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum carrousel_called carrousel_called;
#else
typedef uint32_t carrousel_called;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// A collective operation (MPI-4.1, chapter 6).
enum carrousel_collective_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // No member leaves before all have entered.
    CARROUSEL_COLLECTIVE_KIND_BARRIER = 1,
    // The root's source is the target of all others.
    CARROUSEL_COLLECTIVE_KIND_BROADCAST = 2,
    // The combination of all sources is the root's target.
    CARROUSEL_COLLECTIVE_KIND_REDUCE = 3,
    // The combination of all sources is the target of every member.
    CARROUSEL_COLLECTIVE_KIND_ALL_REDUCE = 4,
    // All sources are the root's target.
    CARROUSEL_COLLECTIVE_KIND_GATHER = 5,
    // All sources are the target of every member.
    CARROUSEL_COLLECTIVE_KIND_ALL_GATHER = 6,
    // Block i of the source of member j is block j of the target of member i.
    CARROUSEL_COLLECTIVE_KIND_ALL_TO_ALL = 7,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum carrousel_collective_kind carrousel_collective_kind;
#else
typedef uint32_t carrousel_collective_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What the host reports.
enum carrousel_event_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // A packet of `peer` in `context`: `packet`. Its data is at hand until the work is done.
    CARROUSEL_EVENT_KIND_PACKET = 1,
    // The write of `request` is complete: its source may be used again.
    CARROUSEL_EVENT_KIND_WRITTEN = 2,
    // The read of `request` is complete: its data is there.
    CARROUSEL_EVENT_KIND_READ = 3,
    // The receive `request` is announced, if `carrousel_rank_may_announce` has named it.
    CARROUSEL_EVENT_KIND_ANNOUNCE = 4,
    // The connection to `peer` is lost: reported once, after all of its packets.
    CARROUSEL_EVENT_KIND_LOST = 5,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum carrousel_event_kind carrousel_event_kind;
#else
typedef uint32_t carrousel_event_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Why a request ended without success.
enum carrousel_failure
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // It did not.
    CARROUSEL_FAILURE_NONE = 0,
    // The message is longer than its receive (`MPI_ERR_TRUNCATE`): `failure_value` has its bytes.
    CARROUSEL_FAILURE_TRUNCATED = 1,
    // The receive was cancelled.
    CARROUSEL_FAILURE_CANCELLED = 2,
    // The connection to the rank `failure_value` is lost.
    CARROUSEL_FAILURE_PEER_LOST = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum carrousel_failure carrousel_failure;
#else
typedef uint32_t carrousel_failure;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What an announcement of a receive has met.
enum carrousel_fate
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // The message was written into it.
    CARROUSEL_FATE_USED = 1,
    // Its message came by RTS.
    CARROUSEL_FATE_DROPPED = 2,
    // Its message came eagerly.
    CARROUSEL_FATE_MISPREDICTED = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum carrousel_fate carrousel_fate;
#else
typedef uint32_t carrousel_fate;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// A word in the memory of an origin, one for each target and window, that its target writes.
enum carrousel_grant_word
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // How many exposures the target has activated for the origin.
    CARROUSEL_GRANT_WORD_EXPOSURES = 1,
    // How many locks the target has granted to the origin.
    CARROUSEL_GRANT_WORD_LOCKS = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum carrousel_grant_word carrousel_grant_word;
#else
typedef uint32_t carrousel_grant_word;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What an RTS says beside its message.
enum carrousel_hint
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Nothing.
    CARROUSEL_HINT_NONE = 0,
    // Announce no receives of this envelope until told to.
    CARROUSEL_HINT_STOP_RTR = 1,
    // Announce them again.
    CARROUSEL_HINT_RESUME_RTR = 2,
    // Too few announcements were used.
    CARROUSEL_HINT_UNUSED = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum carrousel_hint carrousel_hint;
#else
typedef uint32_t carrousel_hint;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// How a lock is held.
enum carrousel_lock_mode
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // By one origin alone.
    CARROUSEL_LOCK_MODE_EXCLUSIVE = 1,
    // By any number of origins.
    CARROUSEL_LOCK_MODE_SHARED = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum carrousel_lock_mode carrousel_lock_mode;
#else
typedef uint32_t carrousel_lock_mode;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What a packet stands behind.
enum carrousel_order
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Nothing.
    CARROUSEL_ORDER_FREE = 1,
    // All data and packets that were posted to this peer before.
    CARROUSEL_ORDER_LANE = 2,
    // The same, and what reads and atomics bring back has arrived before the packet leaves.
    CARROUSEL_ORDER_FENCED = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum carrousel_order carrousel_order;
#else
typedef uint32_t carrousel_order;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Which packet it is.
enum carrousel_packet_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // A message with its data behind it.
    CARROUSEL_PACKET_KIND_EAGER = 1,
    // Ready to send: a message whose data waits at `memory` of the sender.
    CARROUSEL_PACKET_KIND_RTS = 2,
    // A message that was written into an announced receive.
    CARROUSEL_PACKET_KIND_FIN = 3,
    // A message that is being written into an announced receive (published rules).
    CARROUSEL_PACKET_KIND_RTR_ACK = 4,
    // The data of `receive` is there.
    CARROUSEL_PACKET_KIND_ATP = 5,
    // The announcement that was to be cancelled is not at the sender any more.
    CARROUSEL_PACKET_KIND_CANCEL_ACK = 6,
    // Ready to receive: `receive` waits at `memory`.
    CARROUSEL_PACKET_KIND_RTR = 7,
    // The data of `send` has been taken.
    CARROUSEL_PACKET_KIND_ATS = 8,
    // No announcement will come for `send` (published rules).
    CARROUSEL_PACKET_KIND_RTS_ACK = 9,
    // Clear to send: write `send` to `memory`.
    CARROUSEL_PACKET_KIND_CTS = 10,
    // The receiver wants an announced receive back.
    CARROUSEL_PACKET_KIND_CANCEL = 11,
    // So many messages are processed, and so much of the eager ones is taken.
    CARROUSEL_PACKET_KIND_ACK = 12,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum carrousel_packet_kind carrousel_packet_kind;
#else
typedef uint32_t carrousel_packet_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The way in which a small message travels.
enum carrousel_path
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Written into the receiver's ring.
    CARROUSEL_PATH_EAGER_BY_WRITE = 1,
    // Sent, and received into staging memory.
    CARROUSEL_PATH_EAGER_BY_SEND = 2,
    // Written into the target's window.
    CARROUSEL_PATH_PUT = 3,
    // Read from the target's window.
    CARROUSEL_PATH_GET = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum carrousel_path carrousel_path;
#else
typedef uint32_t carrousel_path;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What a host does with a buffer.
enum carrousel_route_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Copy: it has no registration, and waits for none.
    CARROUSEL_ROUTE_KIND_COPY = 1,
    // Use `region`, and release it when the transfer is over.
    CARROUSEL_ROUTE_KIND_DIRECT = 2,
    // Register the pages from `start` up to `end` as `region`, and report by
    // `carrousel_registration_registered` or
    // `carrousel_registration_failed`.
    CARROUSEL_ROUTE_KIND_REGISTER = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum carrousel_route_kind carrousel_route_kind;
#else
typedef uint32_t carrousel_route_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// When receives are announced to their senders.
enum carrousel_speculation
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Never: the classical protocols.
    CARROUSEL_SPECULATION_OFF = 0,
    // Whenever the rules permit.
    CARROUSEL_SPECULATION_ALWAYS = 1,
    // While it pays.
    CARROUSEL_SPECULATION_ADAPTIVE = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum carrousel_speculation carrousel_speculation;
#else
typedef uint32_t carrousel_speculation;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What an origin has to do with the lock.
enum carrousel_standing
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Nothing.
    CARROUSEL_STANDING_IDLE = 0,
    // Its request waits.
    CARROUSEL_STANDING_WAITS = 1,
    // It holds the lock.
    CARROUSEL_STANDING_HOLDS = 2,
    // It has died, and did not hold the lock.
    CARROUSEL_STANDING_DEAD = 3,
    // It has died as a holder: the lock stays held.
    CARROUSEL_STANDING_DEAD_HOLDER = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum carrousel_standing carrousel_standing;
#else
typedef uint32_t carrousel_standing;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What the host of a ticket does next.
enum carrousel_ticket_state
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Carry the access out, and give its answer to `carrousel_ticket_answer`.
    CARROUSEL_TICKET_STATE_ACCESS = 1,
    // It is not the turn of the ticket yet: `carrousel_ticket_poll` looks again.
    CARROUSEL_TICKET_STATE_WAITS = 2,
    // The origin has the lock.
    CARROUSEL_TICKET_STATE_HOLDS = 3,
    // The lock is released.
    CARROUSEL_TICKET_STATE_RELEASED = 4,
    // The lock is lost, and every rank can read that.
    CARROUSEL_TICKET_STATE_LOST = 5,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum carrousel_ticket_state carrousel_ticket_state;
#else
typedef uint32_t carrousel_ticket_state;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What an operation does to the memory of its target.
enum carrousel_transfer_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Writes.
    CARROUSEL_TRANSFER_KIND_PUT = 1,
    // Reads.
    CARROUSEL_TRANSFER_KIND_GET = 2,
    // Combines local data with the target's.
    CARROUSEL_TRANSFER_KIND_ACCUMULATE = 3,
    // The same, and reads what was there.
    CARROUSEL_TRANSFER_KIND_GET_ACCUMULATE = 4,
    // The same for one element.
    CARROUSEL_TRANSFER_KIND_FETCH_AND_OP = 5,
    // Writes one element if it equals another, and reads what was there.
    CARROUSEL_TRANSFER_KIND_COMPARE_AND_SWAP = 6,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum carrousel_transfer_kind carrousel_transfer_kind;
#else
typedef uint32_t carrousel_transfer_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// How the data of a rendezvous moves whose sender was there first.
enum carrousel_transfer_mode
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // The receiver reads it.
    CARROUSEL_TRANSFER_MODE_READ = 0,
    // The sender writes it, after a CTS.
    CARROUSEL_TRANSFER_MODE_WRITE = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum carrousel_transfer_mode carrousel_transfer_mode;
#else
typedef uint32_t carrousel_transfer_mode;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// A call of the program on a window. None of them waits.
enum carrousel_window_call_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Opens an exposure epoch for the ranks of `group`.
    CARROUSEL_WINDOW_CALL_KIND_POST = 1,
    // Closes it.
    CARROUSEL_WINDOW_CALL_KIND_WAIT = 2,
    // Closes it if all of its origins are done.
    CARROUSEL_WINDOW_CALL_KIND_TEST = 3,
    // Opens an access epoch to the ranks of `group`.
    CARROUSEL_WINDOW_CALL_KIND_START = 4,
    // Closes it.
    CARROUSEL_WINDOW_CALL_KIND_COMPLETE = 5,
    // Opens a lock epoch of `target`, as `mode` says.
    CARROUSEL_WINDOW_CALL_KIND_LOCK = 6,
    // Closes it.
    CARROUSEL_WINDOW_CALL_KIND_UNLOCK = 7,
    // Opens a lock_all epoch.
    CARROUSEL_WINDOW_CALL_KIND_LOCK_ALL = 8,
    // Closes it.
    CARROUSEL_WINDOW_CALL_KIND_UNLOCK_ALL = 9,
    // Closes the fence epoch that is open, and opens the next.
    CARROUSEL_WINDOW_CALL_KIND_FENCE = 10,
    // Accesses memory: `transfer`.
    CARROUSEL_WINDOW_CALL_KIND_TRANSFER = 11,
    // Completes the operations so far: those to `target`, or to `CARROUSEL_ALL_TARGETS`.
    CARROUSEL_WINDOW_CALL_KIND_FLUSH = 12,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum carrousel_window_call_kind carrousel_window_call_kind;
#else
typedef uint32_t carrousel_window_call_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What has happened to a window.
enum carrousel_window_event_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // A packet of `peer`: `packet`. Those of one peer come in the order in which they were posted.
    CARROUSEL_WINDOW_EVENT_KIND_PACKET = 1,
    // `peer` has written `value` into the grant word `word`. Only the newest value counts.
    CARROUSEL_WINDOW_EVENT_KIND_GRANTED = 2,
    // The local buffers of `operation` can be used again.
    CARROUSEL_WINDOW_EVENT_KIND_LOCALLY_COMPLETE = 3,
    // `operation` is complete.
    CARROUSEL_WINDOW_EVENT_KIND_COMPLETE = 4,
    // An operand of `peer` was applied from its staging buffer.
    CARROUSEL_WINDOW_EVENT_KIND_APPLIED = 5,
    // `peer` has died. A rank tells its windows by itself: this is for a window alone.
    CARROUSEL_WINDOW_EVENT_KIND_DIED = 6,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum carrousel_window_event_kind carrousel_window_event_kind;
#else
typedef uint32_t carrousel_window_event_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Which packet of a window it is.
enum carrousel_window_packet_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // The access `access` is over.
    CARROUSEL_WINDOW_PACKET_KIND_DONE = 1,
    // The lock `access` is requested, as `mode` says.
    CARROUSEL_WINDOW_PACKET_KIND_LOCK_REQUEST = 2,
    // The lock `access` is released.
    CARROUSEL_WINDOW_PACKET_KIND_LOCK_RELEASE = 3,
    // A staging buffer is asked for.
    CARROUSEL_WINDOW_PACKET_KIND_STAGING_REQUEST = 4,
    // A staging buffer is there.
    CARROUSEL_WINDOW_PACKET_KIND_STAGING_GRANT = 5,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum carrousel_window_packet_kind carrousel_window_packet_kind;
#else
typedef uint32_t carrousel_window_packet_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What a window asks for.
enum carrousel_window_work_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Begin `transfer`, named `operation`, of the epoch `epoch`; if `is_staged`, into the buffer that its
    // target has given. The events `LOCALLY_COMPLETE` (perhaps) and `COMPLETE` follow.
    CARROUSEL_WINDOW_WORK_KIND_TRANSFER = 1,
    // Post `packet` to `peer`, which may be this rank, behind what `order` says.
    CARROUSEL_WINDOW_WORK_KIND_POST = 2,
    // Store `value` in the grant word `word` of this rank in the memory of `peer`, which may be this rank.
    CARROUSEL_WINDOW_WORK_KIND_STORE = 3,
    // `request` is complete; because `peer` has died, if `has_failed`. Of a window alone: a rank has requests of its own.
    CARROUSEL_WINDOW_WORK_KIND_COMPLETE = 4,
    // Tell the program: `peer` requests the lock, as `mode` says, of memory that an open epoch exposes.
    CARROUSEL_WINDOW_WORK_KIND_LOCKED_WHILE_EXPOSED = 5,
    // Tell the program: `peer` has died while it held the lock of this memory, as `mode` says.
    CARROUSEL_WINDOW_WORK_KIND_HOLDER_DIED = 6,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum carrousel_window_work_kind carrousel_window_work_kind;
#else
typedef uint32_t carrousel_window_work_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// A word of the lock. All are 0 at first.
enum carrousel_word
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // The next ticket.
    CARROUSEL_WORD_NEXT = 1,
    // The ticket whose exclusive request has its turn.
    CARROUSEL_WORD_WRITE_SERVING = 2,
    // The ticket whose shared request has its turn.
    CARROUSEL_WORD_READ_SERVING = 3,
    // What rank `owner` has to do with the lock.
    CARROUSEL_WORD_OWNER = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum carrousel_word carrousel_word;
#else
typedef uint32_t carrousel_word;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What the host has to do.
enum carrousel_work_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Send `packet` to `peer` in `context`, and behind it the `len` bytes at `from`: 0 for all but an EAGER.
    CARROUSEL_WORK_KIND_SEND = 1,
    // Write `len` bytes at `from` to `into`, memory of `peer`, then send `packet` behind them in `context`, if
    // `has_packet`. Then comes the event `WRITTEN` of `request`.
    CARROUSEL_WORK_KIND_WRITE = 2,
    // Read `len` bytes at `from`, memory of `peer`, to `into`, then send `packet` to it in `context`, if
    // `has_packet`. Then comes the event `READ` of `request`.
    CARROUSEL_WORK_KIND_READ = 3,
    // Copy the first `len` bytes behind the packet at hand to `into`, for the receive `request`.
    CARROUSEL_WORK_KIND_PLACE = 4,
    // Keep the `len` bytes behind the packet at hand, under the name `kept`.
    CARROUSEL_WORK_KIND_KEEP = 5,
    // Copy the first `len` bytes that were kept as `kept` to `into`, for the receive `request`, and forget them.
    CARROUSEL_WORK_KIND_TAKE = 6,
    // Copy `len` bytes from `from` to `into`.
    CARROUSEL_WORK_KIND_COPY = 7,
    // Combine `len` bytes at `from` with those at `into`, by the operation of the reduction `request`.
    CARROUSEL_WORK_KIND_COMBINE = 8,
    // `request` is complete, as `status` says.
    CARROUSEL_WORK_KIND_COMPLETE = 9,
    // The window `window` asks for what `window_work` says.
    CARROUSEL_WORK_KIND_WINDOW = 10,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum carrousel_work_kind carrousel_work_kind;
#else
typedef uint32_t carrousel_work_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The lock of one process's memory, as the process itself keeps it: first in, first out, with neighbouring
// shared requests side by side.
typedef struct carrousel_lock carrousel_lock;

// Receives that wait for their message, in the order in which they were posted, and messages that wait for
// their receive, in the order in which they arrived. A receive is a handle of the host's choice, a message a
// number.
typedef struct carrousel_matching carrousel_matching;

// One process of a job. A host makes one for each process, gives it the calls of its application and what
// its network reports, and does the work that it asks for: all of it, in order, before the next input. One
// thread at a time uses it.
typedef struct carrousel_rank carrousel_rank;

// The receiving end of a flow.
typedef struct carrousel_receiver carrousel_receiver;

// The registrations of a process.
typedef struct carrousel_registration carrousel_registration;

// The sending end of a flow.
typedef struct carrousel_sender carrousel_sender;

// One origin's side of a lock whose words are in memory that origins share. It asks for accesses, which the
// host carries out, each atomic, one after the other.
typedef struct carrousel_ticket carrousel_ticket;

// The epochs of one process in one window. Its requests are numbers, and each is named by the work
// `COMPLETE` once.
typedef struct carrousel_window carrousel_window;

// The memory of a host. Without one, the memory is malloc's.
typedef struct carrousel_allocator {
    // Returns `size` bytes (never 0) aligned to `align` (a power of two), or null. It must not unwind.
    void *(*allocate)(void *context, size_t size, size_t align);
    // Takes a block back that `allocate` has returned for the same `size` and `align`. It must not unwind.
    void (*release)(void *context, void *block, size_t size, size_t align);
    // The first argument of both.
    void *context;
} carrousel_allocator;

// An origin has the lock, until it releases it.
typedef struct carrousel_grant {
    // The origin.
    uint32_t origin;
    // A `carrousel_lock_mode`.
    uint32_t mode;
} carrousel_grant;

// An access of a ticket.
typedef struct carrousel_access {
    // A `carrousel_access_kind`.
    uint32_t kind;
    // A `carrousel_word`.
    uint32_t word;
    // Of which rank the word OWNER is.
    uint32_t owner;
    // What is stored.
    uint64_t value;
} carrousel_access;

// What a receive or a probe asks for.
typedef struct carrousel_pattern {
    // A rank, or `CARROUSEL_ANY_SOURCE`.
    uint32_t source;
    // The context: twice the number of the communicator, for messages of the application.
    uint16_t context;
    // The tag.
    uint64_t tag;
    // The bits of the tag that do not matter. `MPI_ANY_TAG` ignores the lowest 31.
    uint64_t ignore;
} carrousel_pattern;

// A request of a rank. It is the host's until it is released; a released one is known to be that.
typedef struct carrousel_handle {
    // Position in the table of requests.
    uint32_t index;
    // How many requests have used the position before.
    uint32_t generation;
} carrousel_handle;

// Where a message comes from, and what it is.
typedef struct carrousel_envelope {
    // The sender.
    uint32_t source;
    // The context: twice the number of the communicator, for messages of the application.
    uint16_t context;
    // The tag.
    uint64_t tag;
} carrousel_envelope;

// Memory of a process, as its host names it. The library touches no memory: it hands these names on.
typedef struct carrousel_memory {
    // The first byte, in the address space of its process.
    uint64_t address;
    // The key under which an adapter knows it, or any other number that the host gives it.
    uint32_t key;
} carrousel_memory;

// A packet. Fields that its kind does not have are 0.
typedef struct carrousel_packet {
    // A `carrousel_packet_kind`.
    uint32_t kind;
    // Of RTS: a `carrousel_hint`.
    uint32_t hint;
    // Of EAGER, RTS, FIN, RTR-ACK and RTR: the tag.
    uint64_t tag;
    // Of RTR: the bits of the tag that do not matter.
    uint64_t ignore;
    // Of EAGER, RTS, FIN, RTR-ACK, RTR and CTS: bytes.
    uint64_t len;
    // Of RTS, ATS, RTS-ACK and CTS: the request of the sender.
    struct carrousel_handle send;
    // Of FIN, RTR-ACK, ATP, CANCEL-ACK, RTR, CTS and CANCEL: the request of the receiver.
    struct carrousel_handle receive;
    // Of RTS, RTR and CTS: where the data is, or goes.
    struct carrousel_memory memory;
    // Of ACK: bytes.
    uint64_t taken;
    // Of EAGER, RTS, FIN and RTR-ACK: 8 bytes beside the message's own, if `has_data` is 1.
    uint64_t data;
    // 1 if there are these.
    uint32_t has_data;
    // Of RTR and ACK: messages that were processed.
    uint32_t seen;
    // Of FIN, RTR-ACK, CANCEL and CANCEL-ACK: which of the receives that the RTR of `receive` has announced.
    uint16_t index;
    // Of RTR: how many earlier receives it announces, too.
    uint16_t ahead;
} carrousel_packet;

// Options of the protocols, equal at all ranks of a job.
typedef struct carrousel_options {
    // Bytes of the largest message that is sent with its data.
    uint64_t eager_threshold;
    // Bytes of such messages, each with 64 more, that a rank may have sent to another one and no receive has
    // taken.
    uint64_t eager_window;
    // A `carrousel_speculation`.
    uint32_t speculation;
    // A `carrousel_transfer_mode`.
    uint32_t transfer;
    // The most announced receives of one peer and context.
    uint16_t rtr_limit;
    // Messages that are processed without telling their sender.
    uint16_t credit_every;
} carrousel_options;

// A call of the application. Only the fields that `carrousel_call_kind` names for `kind` are looked at.
typedef struct carrousel_call {
    // A `carrousel_call_kind`.
    uint32_t kind;
    // The receiver of a send; the source of a receive, or `CARROUSEL_ANY_SOURCE`.
    uint32_t peer;
    // Among which ranks, by number; 0 is `CARROUSEL_WORLD`.
    uint32_t communicator;
    // 1 for a send that is complete only when its receive has begun (`MPI_Issend`).
    uint32_t synchronous;
    // The tag.
    uint64_t tag;
    // The bits of the tag that a receive ignores.
    uint64_t ignore;
    // Bytes: of the message, of the room of a receive, of one contribution to a collective.
    uint64_t len;
    // Where they are, or go: the library's until the request is complete.
    struct carrousel_memory memory;
    // 8 bytes that the receiver gets beside the message.
    uint64_t data;
    // 1 if there are these.
    uint32_t has_data;
    // A `carrousel_collective_kind`.
    uint32_t collective;
    // The number of the root among the members.
    uint32_t root;
    // Bytes of an element of a reduction.
    uint32_t element;
    // What this rank contributes to a collective.
    struct carrousel_memory source;
    // Where its result goes.
    struct carrousel_memory target;
    // Room for what passes through: `carrousel_rank_schedule` says how much.
    struct carrousel_memory scratch;
    // The request that the call is about.
    struct carrousel_handle request;
} carrousel_call;

// How a request ended.
typedef struct carrousel_status {
    // 1 if a receive got a message: then `source` and `tag` are its.
    uint32_t has_message;
    // The sender.
    uint32_t source;
    // The tag.
    uint64_t tag;
    // Bytes received or sent.
    uint64_t len;
    // 1 if 8 bytes came with the message.
    uint32_t has_data;
    // A `carrousel_failure`.
    uint32_t failure;
    // The 8 bytes.
    uint64_t data;
    // See `carrousel_failure`.
    uint64_t failure_value;
} carrousel_status;

// Something that has happened. Only the fields that `carrousel_event_kind` names for `kind` are looked at.
typedef struct carrousel_event {
    // A `carrousel_event_kind`.
    uint32_t kind;
    // The peer.
    uint32_t peer;
    // The context of the packet.
    uint16_t context;
    // The request.
    struct carrousel_handle request;
    // The packet.
    struct carrousel_packet packet;
} carrousel_event;

// The name of the data of a message that has arrived before its receive.
typedef struct carrousel_kept {
    // The sender.
    uint32_t from;
    // In which context.
    uint16_t context;
    // Its number among the messages of this sender and context.
    uint32_t number;
} carrousel_kept;

// The name of an operation that is under way.
typedef struct carrousel_operation {
    // How many operations of the window were called up to this one.
    uint64_t age;
    // Where the window finds it.
    uint32_t place;
} carrousel_operation;

// One operation on the memory of a target: `count` blocks of `len` bytes, `stride` bytes from one to the
// next.
typedef struct carrousel_transfer {
    // The rank whose memory is accessed.
    uint32_t target;
    // A `carrousel_transfer_kind`.
    uint32_t kind;
    // Where the first block begins in the target's part of the window.
    uint64_t offset;
    // Bytes of each block.
    uint64_t len;
    // How many there are.
    uint64_t count;
    // Bytes from the begin of one to the begin of the next; not less than `len`.
    uint64_t stride;
    // The host's name for the local buffers and operands.
    uint64_t local;
} carrousel_transfer;

// A packet from one rank of a window to another.
typedef struct carrousel_window_packet {
    // A `carrousel_window_packet_kind`.
    uint32_t kind;
    // A `carrousel_lock_mode`.
    uint32_t mode;
    // The number of the access, from 1.
    uint64_t access;
} carrousel_window_packet;

// One thing to do for a window. Fields that its kind does not name are 0.
typedef struct carrousel_window_work {
    // A `carrousel_window_work_kind`.
    uint32_t kind;
    // The peer.
    uint32_t peer;
    // The name of the operation.
    struct carrousel_operation operation;
    // How many epochs of the window were opened before that of the operation.
    uint64_t epoch;
    // The operation.
    struct carrousel_transfer transfer;
    // 1 if its operand goes into a staging buffer.
    uint32_t is_staged;
    // A `carrousel_order`.
    uint32_t order;
    // The packet.
    struct carrousel_window_packet packet;
    // A `carrousel_grant_word`.
    uint32_t word;
    // A `carrousel_lock_mode`.
    uint32_t mode;
    // The value of the word.
    uint64_t value;
    // The request.
    uint64_t request;
    // 1 if it has failed.
    uint32_t has_failed;
} carrousel_window_work;

// One thing to do. The library writes the fields that `carrousel_work_kind` names for `kind`, and leaves the
// others as they are: a host that has never set them must not read them.
typedef struct carrousel_work {
    // A `carrousel_work_kind`. Written for every kind.
    uint32_t kind;
    // The peer.
    uint32_t peer;
    // The context of the packet.
    uint16_t context;
    // 1 if there is a packet. Written for every kind.
    uint32_t has_packet;
    // The packet.
    struct carrousel_packet packet;
    // Where bytes are.
    struct carrousel_memory from;
    // Where they go.
    struct carrousel_memory into;
    // How many.
    uint64_t len;
    // The request.
    struct carrousel_handle request;
    // The name of kept data.
    struct carrousel_kept kept;
    // The window.
    uint32_t window;
    // How a request ended.
    struct carrousel_status status;
    // What a window asks for.
    struct carrousel_window_work window_work;
} carrousel_work;

// A message that has arrived and has no receive.
typedef struct carrousel_arrived {
    // Its envelope.
    struct carrousel_envelope envelope;
    // Its bytes.
    uint64_t len;
    // 1 if 8 bytes came with it.
    uint32_t has_data;
    // These.
    uint64_t data;
} carrousel_arrived;

// Bytes that a collective needs.
typedef struct carrousel_schedule {
    // Of the source.
    uint64_t source_len;
    // Of the target.
    uint64_t target_len;
    // Of the scratch.
    uint64_t scratch_len;
} carrousel_schedule;

// How this rank's part of a window is made.
typedef struct carrousel_window_setup {
    // 1: an access may be active beside an earlier access.
    uint32_t access_after_access;
    // 1: an access may be active beside an earlier exposure.
    uint32_t access_after_exposure;
    // 1: an exposure may be active beside an earlier exposure.
    uint32_t exposure_after_exposure;
    // 1: an exposure may be active beside an earlier access.
    uint32_t exposure_after_access;
    // Bytes of the largest operand of an accumulate that travels without asking its target for a buffer.
    uint64_t staging_threshold;
    // Such buffers of each rank.
    uint16_t staging_buffers;
    // How many ranks share the memory of this node with this one.
    size_t neighbours_len;
    // These.
    const uint32_t *neighbours;
} carrousel_window_setup;

// A call on a window. Only the fields that `carrousel_window_call_kind` names for `kind` are looked at.
typedef struct carrousel_window_call {
    // A `carrousel_window_call_kind`.
    uint32_t kind;
    // The target.
    uint32_t target;
    // A `carrousel_lock_mode`.
    uint32_t mode;
    // 1 if a transfer or a flush has a request of its own.
    uint32_t with_request;
    // 1 for a flush that is complete when the local buffers can be used again.
    uint32_t is_local;
    // How many ranks `group` has.
    size_t group_len;
    // Ranks, none of them twice.
    const uint32_t *group;
    // The operation.
    struct carrousel_transfer transfer;
} carrousel_window_call;

// Something that has happened to a window. Only the fields that `carrousel_window_event_kind` names are
// looked at.
typedef struct carrousel_window_event {
    // A `carrousel_window_event_kind`.
    uint32_t kind;
    // The peer.
    uint32_t peer;
    // The packet.
    struct carrousel_window_packet packet;
    // A `carrousel_grant_word`.
    uint32_t word;
    // Its value.
    uint64_t value;
    // The operation.
    struct carrousel_operation operation;
} carrousel_window_event;

// The bounds of the registrations, and when a small buffer gets one.
typedef struct carrousel_registration_policy {
    // A page has 2^`page_bits` bytes.
    uint32_t page_bits;
    // The most registrations at a time.
    uint32_t entries;
    // The most registered bytes at a time.
    uint64_t bytes;
    // The least number of uses for which a registration pays, by `carrousel_path` (the first is row 0) and
    // size class.
    uint32_t thresholds[4][9];
    // Register after this percentage of the uses that pay.
    uint32_t speculation_percent;
    // The table of counted buffers begins with 2^`bucket_bits_min` chains ..
    uint32_t bucket_bits_min;
    // .. and grows to 2^`bucket_bits_max`, at most 2^31.
    uint32_t bucket_bits_max;
    // The most counted buffers.
    uint32_t entries_max;
    // Count no more buffers while the chains grow and less than this percentage of them is registered.
    uint32_t share_percent;
    // 1: speculate less while most registrations do not pay.
    uint32_t learns;
    // Shorter messages are copied.
    uint64_t bytes_min;
    // Longer ones are not small, and not counted.
    uint64_t bytes_max;
} carrousel_registration_policy;

// A registration. Its index is used again, the generation tells the uses apart.
typedef struct carrousel_region {
    // Position in the table of the host's keys.
    uint32_t index;
    // How many registrations have used the position before.
    uint32_t generation;
} carrousel_region;

// What a host does with a buffer, and with which registration.
typedef struct carrousel_buffer_route {
    // A `carrousel_route_kind`.
    uint32_t kind;
    // The registration.
    struct carrousel_region region;
    // The first byte to register.
    uint64_t start;
    // The byte behind the last one.
    uint64_t end;
} carrousel_buffer_route;

// How a rendezvous goes out.
typedef struct carrousel_route {
    // 1 if it is written into an announced receive, which the other fields name; 0 if an RTS offers it.
    uint32_t is_write;
    // Of an RTS: a `carrousel_hint`.
    uint32_t hint;
    // The receive that the RTR was sent for.
    struct carrousel_handle receive;
    // Which of the receives that it announced.
    uint16_t index;
    // Bytes that it can take.
    uint64_t len;
    // Where.
    struct carrousel_memory memory;
} carrousel_route;

// A receive that might be announced.
typedef struct carrousel_candidate {
    // The tag.
    uint64_t tag;
    // The bits of the tag that do not matter.
    uint64_t ignore;
    // Bytes that it can take.
    uint64_t len;
    // Matching messages of the flow that were processed, modulo 2^32.
    uint32_t processed;
    // Earlier receives that are not announced and could take the same messages: those of the same source,
    // tag and mask.
    uint16_t same_selector;
    // All others of these.
    uint16_t others;
} carrousel_candidate;

// A receive that has its message.
typedef struct carrousel_matched {
    // The tag of the message.
    uint64_t tag;
    // A `carrousel_fate`.
    uint32_t fate;
    // 1 if the receive was announced.
    uint32_t announced;
    // 1 if its own RTR has announced it, and not that of a later receive.
    uint32_t own_rtr;
    // 1 if it could not have been announced: it expects an eager message, or any source.
    uint32_t exempt;
    // 1 if an announcement would have been of use: the receive was there before the message.
    uint32_t waited;
} carrousel_matched;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of the interface of the library that the host has been linked with.
uint32_t carrousel_abi_version(void);

// What an error means, in one sentence that lives for ever. Of a number that is no error, that.
const char *carrousel_error_text(uint32_t error);

// Makes the lock of a window of `ranks`, which nobody holds.
carrousel_error carrousel_lock_create(uint32_t abi,
                                      const struct carrousel_allocator *allocator,
                                      uint32_t ranks,
                                      struct carrousel_lock **lock);

// Frees a lock, and sets the pointer to null.
carrousel_error carrousel_lock_free(struct carrousel_lock **lock);

// As `carrousel_rank_error_text`.
carrousel_error carrousel_lock_error_text(struct carrousel_lock *lock,
                                          char *buffer,
                                          size_t len,
                                          size_t *needed);

// A request has arrived, of a `carrousel_lock_mode`.
carrousel_error carrousel_lock_request(struct carrousel_lock *lock, uint32_t origin, uint32_t how);

// A release has arrived, behind the data of its origin.
carrousel_error carrousel_lock_release(struct carrousel_lock *lock, uint32_t origin);

// An origin has died. `held` and `waited` get the `carrousel_lock_mode` in which it held the lock, or waited
// for it, or 0. A lock that it holds stays held.
carrousel_error carrousel_lock_died(struct carrousel_lock *lock,
                                    uint32_t origin,
                                    uint32_t *held,
                                    uint32_t *waited);

// The next grant. `EMPTY` if none is left.
carrousel_error carrousel_lock_next_grant(struct carrousel_lock *lock, struct carrousel_grant *grant);

// What an origin has to do with the lock: a `carrousel_standing`.
carrousel_error carrousel_lock_standing(struct carrousel_lock *lock, uint32_t origin, uint32_t *standing);

// Makes the side of rank `origin`.
carrousel_error carrousel_ticket_create(uint32_t abi,
                                        const struct carrousel_allocator *allocator,
                                        uint32_t origin,
                                        struct carrousel_ticket **ticket);

// Frees a ticket, and sets the pointer to null.
carrousel_error carrousel_ticket_free(struct carrousel_ticket **ticket);

// Requests the lock, of a `carrousel_lock_mode`: the first access.
carrousel_error carrousel_ticket_request(struct carrousel_ticket *ticket,
                                         uint32_t how,
                                         struct carrousel_access *access);

// Looks whether it is the turn of a ticket that waits: an access, or `EMPTY` if the ticket does not wait.
carrousel_error carrousel_ticket_poll(struct carrousel_ticket *ticket, struct carrousel_access *access);

// Releases the lock: the first access.
carrousel_error carrousel_ticket_release(struct carrousel_ticket *ticket, struct carrousel_access *access);

// The answer of an access. `state` gets a `carrousel_ticket_state`; if it is `ACCESS`, `access` gets the
// next one.
carrousel_error carrousel_ticket_answer(struct carrousel_ticket *ticket,
                                        uint64_t value,
                                        uint32_t *state,
                                        struct carrousel_access *access);

// Makes two empty queues.
carrousel_error carrousel_matching_create(uint32_t abi,
                                          const struct carrousel_allocator *allocator,
                                          struct carrousel_matching **matching);

// Frees the queues, and sets the pointer to null.
carrousel_error carrousel_matching_free(struct carrousel_matching **matching);

// A receive takes the first message that it matches, which is `message` then; or, with `EMPTY`, it is posted
// under its name, which no other one may have that is posted (`IN_USE`).
carrousel_error carrousel_matching_receive(struct carrousel_matching *matching,
                                           const struct carrousel_pattern *pattern,
                                           struct carrousel_handle request,
                                           struct carrousel_envelope *envelope,
                                           uint64_t *message);

// A message takes the first receive that it matches, whose name `request` gets; or, with `EMPTY`, it waits
// as `message`.
carrousel_error carrousel_matching_arrive(struct carrousel_matching *matching,
                                          const struct carrousel_envelope *envelope,
                                          uint64_t message,
                                          struct carrousel_handle *request);

// Takes a receive back that has no message.
carrousel_error carrousel_matching_cancel(struct carrousel_matching *matching,
                                          struct carrousel_handle request);

// The first message that a receive like this would take now, which stays; or `EMPTY`.
carrousel_error carrousel_matching_probe(struct carrousel_matching *matching,
                                         const struct carrousel_pattern *pattern,
                                         struct carrousel_envelope *envelope,
                                         uint64_t *message);

// How many receives and how many messages wait.
carrousel_error carrousel_matching_len(struct carrousel_matching *matching,
                                       size_t *receives,
                                       size_t *messages);

// Writes the bytes of a packet of a context to `head`, which has room for `CARROUSEL_HEAD_MAX`, and their
// number to
// `len`. The data of an EAGER goes behind them.
carrousel_error carrousel_packet_encode(uint16_t context,
                                        const struct carrousel_packet *packet,
                                        uint8_t *head,
                                        size_t *len);

// Reads a packet of a peer from its first `len` bytes (`CARROUSEL_HEAD_MAX` are enough) of `total`. `body`
// gets where the data of an EAGER begins.
carrousel_error carrousel_packet_decode(const uint8_t *bytes,
                                        size_t len,
                                        size_t total,
                                        uint16_t *context,
                                        struct carrousel_packet *packet,
                                        size_t *body);

// 1 if a packet travels to the receiver of the messages, 0 if it travels to their sender. Packets of one
// direction, of one peer and one context, have to come in the order in which they were sent.
carrousel_error carrousel_packet_to_receiver(const struct carrousel_packet *packet, uint32_t *to_receiver);

// What options are if the host chooses none.
carrousel_error carrousel_options_default(struct carrousel_options *options);

// Makes the rank `me` of a job of `ranks`, with `options` or the default ones. `abi` is
// `CARROUSEL_ABI_VERSION`. Without an allocator its memory is malloc's.
carrousel_error carrousel_rank_create(uint32_t abi,
                                      const struct carrousel_allocator *allocator,
                                      uint32_t me,
                                      uint32_t ranks,
                                      const struct carrousel_options *options,
                                      struct carrousel_rank **rank);

// Frees a rank, and sets the pointer to null.
carrousel_error carrousel_rank_free(struct carrousel_rank **rank);

// Writes what was wrong with the last refused call, in words, if more is known of it than its code: the text
// that a trace has for a refused call. It ends with 0; `needed` gets its bytes, and `WRONG_LENGTH` says that
// it did not fit.
carrousel_error carrousel_rank_error_text(struct carrousel_rank *rank,
                                          char *buffer,
                                          size_t len,
                                          size_t *needed);

// The application calls. `request` gets the request that the call opens, or that it is about.
carrousel_error carrousel_rank_call(struct carrousel_rank *rank,
                                    const struct carrousel_call *call,
                                    struct carrousel_handle *request);

// Sends a message with its data, if that is possible now: then it is complete, and no request is left of it.
// `EMPTY` if it is not, and nothing has been done. The call's kind has to be `SEND`, and is not looked at.
carrousel_error carrousel_rank_send_eagerly(struct carrousel_rank *rank, const struct carrousel_call *call);

// Receives a message that has arrived with its data, if there is one: then the receive is complete, and no
// request is left of it. `EMPTY` if there is none. The call's kind has to be `RECEIVE`, and is not looked
// at.
carrousel_error carrousel_rank_receive_kept(struct carrousel_rank *rank,
                                            const struct carrousel_call *call,
                                            struct carrousel_status *status);

// Receives an eager message of `len` bytes, without 8 bytes beside its own, that has come just now, if a
// receive like this would get it: then it is complete, and no request is left of it. `EMPTY` if not; then
// the message is an event.
carrousel_error carrousel_rank_receive_next(struct carrousel_rank *rank,
                                            const struct carrousel_call *call,
                                            const struct carrousel_envelope *envelope,
                                            uint64_t len,
                                            struct carrousel_status *status);

// The network reports. Packets of one peer, context and direction come in the order in which they were sent.
carrousel_error carrousel_rank_event(struct carrousel_rank *rank, const struct carrousel_event *event);

// The next thing to do. `EMPTY` if nothing is left.
carrousel_error carrousel_rank_next_work(struct carrousel_rank *rank, struct carrousel_work *work);

// The first receive that may be announced now. A host that speculates asks after each call and event, and
// answers with the event `ANNOUNCE` until it is `EMPTY`. Not to announce, or later, is safe.
carrousel_error carrousel_rank_may_announce(struct carrousel_rank *rank, struct carrousel_handle *request);

// How a request has ended; `INCOMPLETE` if it has not.
carrousel_error carrousel_rank_status(struct carrousel_rank *rank,
                                      struct carrousel_handle request,
                                      struct carrousel_status *status);

// Releases a complete request, and tells how it has ended; `INCOMPLETE` leaves it as it is.
carrousel_error carrousel_rank_release(struct carrousel_rank *rank,
                                       struct carrousel_handle request,
                                       struct carrousel_status *status);

// The first message that a receive like this would get now (`MPI_Iprobe`), or `EMPTY`.
carrousel_error carrousel_rank_probe(struct carrousel_rank *rank,
                                     const struct carrousel_pattern *pattern,
                                     struct carrousel_arrived *arrived);

// Claims the first message that a receive like this would get now (`MPI_Improbe`), or `EMPTY`. `request` is
// the one that receives or discards it. A context of the library has no messages of the application.
carrousel_error carrousel_rank_claim(struct carrousel_rank *rank,
                                     const struct carrousel_pattern *pattern,
                                     struct carrousel_handle *request,
                                     struct carrousel_arrived *arrived);

// Makes a communicator known, so that its collectives can be called: `len` members, in the order of their
// numbers in it, the same at each of them. `CARROUSEL_WORLD` is known from the beginning.
carrousel_error carrousel_rank_define(struct carrousel_rank *rank,
                                      uint32_t number,
                                      const uint32_t *members,
                                      size_t len);

// Forgets a communicator that no member uses any more, so that its number can be defined again.
carrousel_error carrousel_rank_forget(struct carrousel_rank *rank, uint32_t number);

// Whether a communicator can be forgotten as far as this rank knows: if not, it is `IN_USE`.
carrousel_error carrousel_rank_may_forget(struct carrousel_rank *rank, uint32_t number);

// The lost rank because of which a receive from `source` that finds no message would fail, or `EMPTY`.
carrousel_error carrousel_rank_lost_for(struct carrousel_rank *rank,
                                        uint32_t source,
                                        uint32_t number,
                                        uint32_t *lost);

// Whether all that has arrived has to be given to the rank before it makes this call (initial progress):
// `needed` gets 1 or 0. Without it nothing goes wrong, but no data moves while both sides compute.
carrousel_error carrousel_rank_needs_initial_progress(struct carrousel_rank *rank,
                                                      const struct carrousel_call *call,
                                                      uint32_t *needed);

// What a collective needs at this rank.
carrousel_error carrousel_rank_schedule(struct carrousel_rank *rank,
                                        const struct carrousel_call *call,
                                        struct carrousel_schedule *schedule);

// Writes how far a request is, for a person. It ends with 0; `needed` gets its bytes.
carrousel_error carrousel_rank_progress_text(struct carrousel_rank *rank,
                                             struct carrousel_handle request,
                                             char *buffer,
                                             size_t len,
                                             size_t *needed);

// The request of the application that is not complete and comes first, or after `after` if that is given; or
// `EMPTY`.
carrousel_error carrousel_rank_pending(struct carrousel_rank *rank,
                                       const struct carrousel_handle *after,
                                       struct carrousel_handle *request);

// What a setup is without promises and neighbours.
carrousel_error carrousel_window_setup_default(struct carrousel_window_setup *setup);

// Makes a window. All ranks of the job make the same ones in the same order; `window` gets its number.
carrousel_error carrousel_rank_create_window(struct carrousel_rank *rank,
                                             const struct carrousel_window_setup *setup,
                                             uint32_t *window);

// The application calls on a window. `called` gets a `carrousel_called`, `request` the request if there is
// one.
carrousel_error carrousel_rank_window_call(struct carrousel_rank *rank,
                                           uint32_t window,
                                           const struct carrousel_window_call *call,
                                           uint32_t *called,
                                           struct carrousel_handle *request);

// The network reports what concerns a window.
carrousel_error carrousel_rank_window_event(struct carrousel_rank *rank,
                                            uint32_t window,
                                            const struct carrousel_window_event *event);

// Whether a flush without a request is over: `INCOMPLETE` if not, `PEER_LOST` if an operation of it has
// failed.
carrousel_error carrousel_rank_is_flushed(struct carrousel_rank *rank,
                                          uint32_t window,
                                          uint32_t target,
                                          uint32_t is_local);

// What a policy is if the host chooses none.
carrousel_error carrousel_registration_policy_default(struct carrousel_registration_policy *policy);

// Makes a cache without registrations, with a policy or the default one.
carrousel_error carrousel_registration_create(uint32_t abi,
                                              const struct carrousel_allocator *allocator,
                                              const struct carrousel_registration_policy *policy,
                                              struct carrousel_registration **cache);

// Frees a cache, and sets the pointer to null. What is registered stays so: `carrousel_registration_clear`
// comes first.
carrousel_error carrousel_registration_free(struct carrousel_registration **cache);

// As `carrousel_rank_error_text`.
carrousel_error carrousel_registration_error_text(struct carrousel_registration *cache,
                                                  char *buffer,
                                                  size_t len,
                                                  size_t *needed);

// A small message of `len` bytes at `address` is about to travel, by a `carrousel_path`.
carrousel_error carrousel_registration_transfer(struct carrousel_registration *cache,
                                                uint64_t address,
                                                uint64_t len,
                                                uint32_t path,
                                                struct carrousel_buffer_route *out);

// A message that should not be copied needs `len` bytes at `address` registered: `DIRECT`, `REGISTER`, or
// `COPY` if they cannot be, so that the data has to go another way.
carrousel_error carrousel_registration_acquire(struct carrousel_registration *cache,
                                               uint64_t address,
                                               uint64_t len,
                                               struct carrousel_buffer_route *out);

// The host has registered a region. `usable` gets 1 if the transfer that asked for it holds it, 0 if its
// pages have gone meanwhile: then it is deregistered.
carrousel_error carrousel_registration_registered(struct carrousel_registration *cache,
                                                  struct carrousel_region region,
                                                  uint32_t *usable);

// The host could not register a region.
carrousel_error carrousel_registration_failed(struct carrousel_registration *cache,
                                              struct carrousel_region region);

// A transfer is over that has held a region.
carrousel_error carrousel_registration_release(struct carrousel_registration *cache,
                                               struct carrousel_region region);

// The pages of `len` bytes at `address` are about to go.
carrousel_error carrousel_registration_invalidate(struct carrousel_registration *cache,
                                                  uint64_t address,
                                                  uint64_t len);

// Ends all registrations that no transfer holds, and those that one holds with its end.
carrousel_error carrousel_registration_clear(struct carrousel_registration *cache);

// The next region to deregister, and to forget the keys of. `EMPTY` if none is left.
carrousel_error carrousel_registration_next_work(struct carrousel_registration *cache,
                                                 struct carrousel_region *region);

// Makes the sending end of a flow: `window` bytes of eager messages, each with 64 more, that no receive has
// taken, and
// `limit` announced receives at most. With `adapts` 1 it announces while that pays.
carrousel_error carrousel_sender_create(uint32_t abi,
                                        const struct carrousel_allocator *allocator,
                                        uint64_t window,
                                        uint16_t limit,
                                        uint32_t adapts,
                                        struct carrousel_sender **sender);

// Frees an end, and sets the pointer to null.
carrousel_error carrousel_sender_free(struct carrousel_sender **sender);

// A message of `len` bytes goes eagerly, with its data behind it, under a name that no message under way
// has. `EMPTY` if it does not fit the window: then it has to go by rendezvous, and nothing has changed.
carrousel_error carrousel_sender_eager(struct carrousel_sender *sender,
                                       uint64_t tag,
                                       uint64_t len,
                                       struct carrousel_handle send);

// Decides how a message goes that is not eager. `agree` 0 forbids a write into an announced receive, 1
// permits it. The message is under way until `carrousel_sender_finished`.
carrousel_error carrousel_sender_rendezvous(struct carrousel_sender *sender,
                                            uint64_t tag,
                                            uint64_t len,
                                            struct carrousel_handle send,
                                            uint32_t agree,
                                            struct carrousel_route *route);

// A packet of the receiver, of the kinds RTR, ACK, RTS-ACK and CANCEL. To a CANCEL, the host answers
// CANCEL-ACK.
carrousel_error carrousel_sender_packet(struct carrousel_sender *sender,
                                        const struct carrousel_packet *packet);

// The transfer of a message is over: it was written, or read by the receiver (ATS).
carrousel_error carrousel_sender_finished(struct carrousel_sender *sender, struct carrousel_handle send);

// Makes the receiving end of a flow, with the same numbers as the sending one.
carrousel_error carrousel_receiver_create(uint32_t abi,
                                          const struct carrousel_allocator *allocator,
                                          uint64_t window,
                                          uint16_t limit,
                                          uint32_t adapts,
                                          struct carrousel_receiver **receiver);

// Frees an end, and sets the pointer to null.
carrousel_error carrousel_receiver_free(struct carrousel_receiver **receiver);

// Whether a receive may be announced now: `seen` and `ahead` get what its RTR says. `EMPTY` if it may not.
// When the RTR is sent, `carrousel_receiver_announced` follows.
carrousel_error carrousel_receiver_announce(struct carrousel_receiver *receiver,
                                            const struct carrousel_candidate *candidate,
                                            uint32_t *seen,
                                            uint16_t *ahead);

// The RTR that `carrousel_receiver_announce` has permitted was sent.
carrousel_error carrousel_receiver_announced(struct carrousel_receiver *receiver);

// The `number`-th matching message (EAGER, RTS, FIN) is being processed: `EMPTY`, or the fields of the ACK
// that is due, one for each `credit_every` messages.
carrousel_error carrousel_receiver_arrived(struct carrousel_receiver *receiver,
                                           uint32_t number,
                                           uint16_t credit_every,
                                           struct carrousel_packet *ack);

// A receive has taken an eager message of `len` bytes, of `processed` that were processed: `EMPTY`, or the
// fields of the ACK that is due.
carrousel_error carrousel_receiver_taken(struct carrousel_receiver *receiver,
                                         uint64_t len,
                                         uint32_t processed,
                                         struct carrousel_packet *ack);

// An RTS for `tag` had a `carrousel_hint`. `unmark` gets 1 if announced receives of the envelope count as
// not announced from now on: each is then told by `carrousel_receiver_withdrawn`.
carrousel_error carrousel_receiver_hint(struct carrousel_receiver *receiver,
                                        uint64_t tag,
                                        uint32_t hint,
                                        uint32_t *unmark);

// A receive has its message.
carrousel_error carrousel_receiver_matched(struct carrousel_receiver *receiver,
                                           const struct carrousel_matched *matched);

// An announced receive was cancelled, or counts as not announced any more.
carrousel_error carrousel_receiver_withdrawn(struct carrousel_receiver *receiver);

// Makes the part of rank `me` of a window of `ranks`. Without a setup it is the default one.
carrousel_error carrousel_window_create(uint32_t abi,
                                        const struct carrousel_allocator *allocator,
                                        uint32_t me,
                                        uint32_t ranks,
                                        const struct carrousel_window_setup *setup,
                                        struct carrousel_window **window);

// Frees a window, and sets the pointer to null.
carrousel_error carrousel_window_free(struct carrousel_window **window);

// As `carrousel_rank_error_text`.
carrousel_error carrousel_window_error_text(struct carrousel_window *window,
                                            char *buffer,
                                            size_t len,
                                            size_t *needed);

// The application calls. `called` gets a `carrousel_called`, `request` the request if there is one.
carrousel_error carrousel_window_take_call(struct carrousel_window *window,
                                           const struct carrousel_window_call *call,
                                           uint32_t *called,
                                           uint64_t *request);

// Something has happened.
carrousel_error carrousel_window_take_event(struct carrousel_window *window,
                                            const struct carrousel_window_event *event);

// The next thing to do. `EMPTY` if nothing is left.
carrousel_error carrousel_window_next_work(struct carrousel_window *window,
                                           struct carrousel_window_work *work);

// Whether a flush without a request is over: `INCOMPLETE` if not, `PEER_LOST` if an operation of it has
// failed.
carrousel_error carrousel_window_is_flushed(struct carrousel_window *window,
                                            uint32_t target,
                                            uint32_t is_local);

// Whether nothing is open, pending or held: otherwise it is `IN_USE`.
carrousel_error carrousel_window_is_quiet(struct carrousel_window *window);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* CARROUSEL_H */
