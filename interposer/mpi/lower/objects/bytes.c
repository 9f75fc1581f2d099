#include "lower/objects/bytes.h"

void put_bytes(struct bytes *out, const void *data, size_t len)
{
	if (out->len + len > out->room) {
		out->room = (out->len + len) * 2 + 4096;
		out->base = needed(realloc(out->base, out->room));
	}
	if (len)
		memcpy(out->base + out->len, data, len);
	out->len += len;
}

void put_number(struct bytes *out, int64_t value)
{
	put_bytes(out, &value, sizeof(value));
}

const void *get_bytes(struct bytes *in, size_t len)
{
	const char *at = in->at;

	if (in->bad || (size_t)(in->end - in->at) < len) {
		in->bad = true;
		return NULL;
	}
	in->at += len;
	return at;
}

int64_t get_number(struct bytes *in)
{
	int64_t value = 0;
	const void *at = get_bytes(in, sizeof(value));

	if (at)
		memcpy(&value, at, sizeof(value));
	return value;
}

void put_text(struct bytes *out, const char *text)
{
	put_number(out, (int64_t)strlen(text));
	put_bytes(out, text, strlen(text));
}

void get_text(struct bytes *in, char *text, size_t room)
{
	size_t len = (size_t)get_number(in);
	const void *at = len < room ? get_bytes(in, len) : NULL;

	in->bad |= !at;
	if (at)
		memcpy(text, at, len);
	text[at ? len : 0] = 0;
}

void *room_for(struct bytes *in, int64_t count, size_t size)
{
	void *p;

	if (count < 0 || count > INT32_MAX)
		in->bad = true;
	p = needed(calloc(in->bad ? 1 : (size_t)count + 1, size));
	return p;
}

int *get_ints(struct bytes *in, int64_t *count)
{
	*count = get_number(in);
	int *p = room_for(in, *count, sizeof(int));
	const void *at = in->bad ? NULL : get_bytes(in, (size_t)*count * sizeof(int));

	if (at)
		memcpy(p, at, (size_t)*count * sizeof(int));
	return p;
}

void put_ints(struct bytes *out, const int *values, int64_t count)
{
	put_number(out, count);
	put_bytes(out, values, (size_t)count * sizeof(int));
}
