/* A sequence of numbers, texts and bytes, which is written beside an image and read in a restart. */
#pragma once
#include "lower/objects/real.h"

struct bytes {
	char *base;
	size_t len, room;
	const char *at, *end; /* reading */
	bool bad;             /* reading has failed, or something is written that cannot be made again */
	const char *why;      /* the reason, or NULL */
};

/* Writing: append to out->base, which the caller frees.  Reading: after a failure in->bad is set, and functions return
 * 0, NULL or an empty text. */
void put_bytes(struct bytes *out, const void *data, size_t len);
void put_number(struct bytes *out, int64_t value);
const void *get_bytes(struct bytes *in, size_t len);
int64_t get_number(struct bytes *in);
void put_text(struct bytes *out, const char *text);
void get_text(struct bytes *in, char *text, size_t room);
/* Zeroed memory for count + 1 elements, also after a failure; the caller frees it. */
void *room_for(struct bytes *in, int64_t count, size_t size);
int *get_ints(struct bytes *in, int64_t *count);
void put_ints(struct bytes *out, const int *values, int64_t count);
