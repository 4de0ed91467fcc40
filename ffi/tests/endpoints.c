/* Two endpoints that number their peers themselves, and a message between them, as `carrousel_trace.h` writes them. The
 * numbers are chosen so that only addresses put the parts together. */

#include "carrousel_trace.h"

int main(int count, char **arguments)
{
    if (count != 2)
        return 2;
    carrousel_options options = {.eager_threshold = 8192, .eager_window = 4194304, .rtr_limit = 64, .credit_every = 64};
    carrousel_trace_endpoint sender = {.address = "net 1", .process = 7, .host_rank = 1, .host_ranks = 2};
    carrousel_trace_endpoint receiver = {.address = "net 0", .process = 8, .job = "a", .host_rank = 0, .host_ranks = 2};
    sender.job = receiver.job;
    carrousel_handle request = {0, 0};
    carrousel_trace trace;

    if (carrousel_trace_begin_endpoint(&trace, arguments[1], 0, 9, &sender, &options, count, arguments) != 0)
        return 1;
    carrousel_trace_peer(&trace, 5, "net 0");
    carrousel_call send = {.kind = CARROUSEL_CALL_KIND_SEND, .peer = 5, .tag = 3, .len = 8};
    carrousel_trace_call(&trace, &send, request, NULL, 0);
    if (carrousel_trace_end(&trace, 1) != 0)
        return 1;

    if (carrousel_trace_begin_endpoint(&trace, arguments[1], 0, 9, &receiver, &options, count, arguments) != 0)
        return 1;
    carrousel_call receive = {.kind = CARROUSEL_CALL_KIND_RECEIVE, .peer = CARROUSEL_ANY_SOURCE, .tag = 3, .len = 8};
    carrousel_trace_call(&trace, &receive, request, NULL, 0);
    carrousel_trace_peer(&trace, 1, "net 1");
    carrousel_event arrival = {.kind = CARROUSEL_EVENT_KIND_PACKET, .peer = 1};
    arrival.packet.kind = CARROUSEL_PACKET_KIND_EAGER;
    arrival.packet.tag = 3;
    arrival.packet.len = 8;
    carrousel_trace_event(&trace, &arrival);
    carrousel_status status = {.has_message = 1, .source = 1, .tag = 3, .len = 8};
    carrousel_trace_release(&trace, request, &status);
    return carrousel_trace_end(&trace, 1) != 0;
}
