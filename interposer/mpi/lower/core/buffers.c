/* Buffered sends.  The real MPI writes to the attached buffer at any time, so it gets a buffer of ours; the program's
 * buffer is not written to, and MPI_Buffer_detach returns it.  At a coordinated checkpoint the buffer is empty: all
 * messages have been received. */
#include "lower/core/kept.h"

static struct {
	void *upper, *room;
	int size; /* as the program gave it */
} attached;

static int attach(void *upper, int size, int real_size)
{
	void *room = upper ? malloc((real_size > 0 ? (size_t)real_size : 0) + 1) : NULL;
	int rc = PMPI_Buffer_attach(room, real_size);

	if (rc != MPI_SUCCESS) {
		free(room);
		return rc;
	}
	attached.upper = upper;
	attached.room = room;
	attached.size = size;
	return rc;
}

/* buffer, size */
int64_t real_Buffer_attach(const uint64_t *a)
{
	return attach((void *)a[0], (int)a[1], (int)a[1]);
}

/* buffer_addr, size */
int64_t real_Buffer_detach(const uint64_t *a)
{
	void *room;
	int size;
	int rc = BLOCKING(PMPI_Buffer_detach(a[0] ? &room : NULL, a[1] ? &size : NULL));

	if (rc != MPI_SUCCESS)
		return rc;
	if (attached.room)
		size = attached.size;
	put((void *)a[0], &attached.upper, sizeof(attached.upper));
	put((void *)a[1], &size, sizeof(size));
	free(attached.room);
	attached.upper = attached.room = NULL;
	return rc;
}

void put_buffer(struct bytes *out)
{
	put_number(out, (int64_t)attached.upper);
	put_number(out, attached.room ? attached.size : 0);
}

/* This MPI may need more room for each message than the MPI that the program expects. */
void get_buffer(struct bytes *in)
{
	void *upper = (void *)get_number(in);
	int64_t size = get_number(in), room = size + size / 2 + MPI_BSEND_OVERHEAD;

	if (upper && !in->bad)
		in->bad = attach(upper, (int)size, room < INT32_MAX ? (int)room : (int)size) != MPI_SUCCESS;
}
