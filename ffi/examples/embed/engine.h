/* A small engine: the rank of one of two processes, over one TCP connection.
 *
 * The library decides; this carries out. Every input goes through `input` in engine.c, which takes all of the
 * work that
 * follows, in order, before it returns: the law of a driver. Nothing here knows what a rendezvous is. */

#ifndef ENGINE_H
#define ENGINE_H

#include "carrousel.h"

/* The most buffers that are registered at a time, and the most messages that arrive before their receive. */
enum { REGIONS = 16, KEPT = 64, OPERATIONS = 16 };

typedef struct engine engine;

/* Connects the two processes: rank 0 listens on the port of 127.0.0.1, rank 1 connects to it. Exits with a
 * message if that fails. With CARROUSEL_TRACE, the inputs of the rank are recorded there. */
engine *engine_open(uint32_t me, uint16_t port, int count, char **arguments);

/* Ends the connection, and frees everything. Every request has been waited for. */
void engine_close(engine *engine);

/* The name of a buffer, which stays where it is until the engine is closed. */
carrousel_memory engine_register(engine *engine, void *buffer, size_t len);

/* Starts a send or a receive of a registered buffer. */
carrousel_handle engine_send(engine *engine, uint32_t to, uint64_t tag, carrousel_memory buffer, size_t len,
                             const char *file, int line);
carrousel_handle engine_receive(engine *engine, uint32_t from, uint64_t tag, carrousel_memory buffer,
                                size_t len, const char *file, int line);

/* Waits for a request, and releases it. */
carrousel_status engine_wait(engine *engine, carrousel_handle request);

/* Makes the window: `len` bytes of each process. */
void engine_window(engine *engine, void *memory, size_t len);

/* Calls on the window. `engine_window_close` waits for what the call leaves to wait for. */
void engine_window_open(engine *engine, carrousel_window_call call);
void engine_window_close(engine *engine, carrousel_window_call call);
void engine_put(engine *engine, uint32_t target, size_t offset, const void *from, size_t len);
void engine_get(engine *engine, uint32_t target, size_t offset, void *into, size_t len);

#endif
