/* State of this folder that a checkpoint saves. */
#pragma once
#include "lower/objects/bytes.h"

/* buffers.c */
void put_buffer(struct bytes *out);
void get_buffer(struct bytes *in);
/* generalized.c */
void put_generalized(struct bytes *out);
void get_generalized(struct bytes *in);
/* exchange_sent.c */
void put_exchanges(struct bytes *out);
void get_exchanges(struct bytes *in);
