/* What together_*.c write beside an image and read again: numbers, texts and bytes one after the other, and which file
 * knows which objects. */
#ifndef RDB_MPI_TOGETHER_BYTES_H
#define RDB_MPI_TOGETHER_BYTES_H
#include "requests.h"
#include "together.h"

struct bytes {
	char *base;
	size_t len, room;
	const char *at, *end; /* reading */
	bool bad;
	const char *why; /* it is; NULL: in general */
};

void put_bytes(struct bytes *out, const void *data, size_t len);
void put_number(struct bytes *out, int64_t value);
const void *get_bytes(struct bytes *in, size_t len);
int64_t get_number(struct bytes *in);
void put_text(struct bytes *out, const char *text);
void get_text(struct bytes *in, char *text, size_t room);
void *room_for(struct bytes *in, int64_t count, size_t size);
int *get_ints(struct bytes *in, int64_t *count);
void put_ints(struct bytes *out, const int *values, int64_t count);

#define EACH(class, object) \
	for (uint32_t id_ = RDB_FIRST_DYNAMIC; id_ < tables[class].next; id_++) \
		if ((object = (void *)object_of(class, id_))->o.id == id_)
#define EACH_PLAIN(class, object) \
	for (uint32_t id_ = RDB_FIRST_DYNAMIC; id_ < tables[class].next; id_++) \
		if ((object = object_of(class, id_))->id == id_)

/* together_types.c.  `own`: made for the caller, who frees it. */
void put_type(struct bytes *out, MPI_Datatype type);
MPI_Datatype get_type(struct bytes *in, bool *own);
/* together_comms.c */
void put_group(struct bytes *out, MPI_Group group);
MPI_Group get_group(struct bytes *in);
void put_comms(struct bytes *out);
void get_comms(struct bytes *in);
/* together_objects.c: groups, datatypes, operations and infos that the program has */
void put_info(struct bytes *out, MPI_Info info);
MPI_Info get_info(struct bytes *in);
void put_others(struct bytes *out);
void get_others(struct bytes *in);
/* windows_shared.c: the memory, and the window over it (into a struct that is no object yet) */
struct vwin;
struct window_part;
void put_shared(struct bytes *out, const struct vwin *win);
MPI_Win get_shared(struct bytes *in, MPI_Comm comm, int ranks, struct vwin *win, struct window_part **part);
/* together_windows_state.c */
void put_windows(struct bytes *out);
void get_windows(struct bytes *in);
/* matched.c */
void put_messages(struct bytes *out);
void get_messages(struct bytes *in);
void put_drained(struct bytes *out, const struct drained *one);
struct drained *get_drained(struct bytes *in);
/* buffers.c */
void put_buffer(struct bytes *out);
void get_buffer(struct bytes *in);
/* generalized.c */
void put_generalized(struct bytes *out);
void get_generalized(struct bytes *in);
/* together_exchanges.c */
void put_exchanges(struct bytes *out);
void get_exchanges(struct bytes *in);
/* together_requests.c */
void put_requests(struct bytes *out);
void get_request(struct bytes *in);

#endif
