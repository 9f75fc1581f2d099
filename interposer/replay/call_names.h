/* Names of events, for messages. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* "read(2)", "MPI_Send", "ibv_post_send", "signal 11": of the record's kind and number. */
void call_name(unsigned kind, uint32_t nr, char *out, size_t size);
