#include "lower/core/sent.h"
#include "lower/core/requests.h"

void sent_typed(const char *buf, int64_t count, struct vtype *type)
{
	if (count <= 0 || type->size == 0)
		return;
	if (type->dense) {
		host->sent(buf, (size_t)(count * type->size));
		return;
	}
	if (!type->parts)
		type_parts(type);
	if (type->part_count == 1 && type->parts->count == 1) {
		const struct rdb_blocks all = {type->parts->offset, type->extent, type->parts->len, (uint64_t)count};

		host->sent_blocks(buf, 1, 0, &all, 1);
	} else {
		host->sent_blocks(buf, count, type->extent, type->parts, type->part_count);
	}
}

void sent_array(const char *array, int64_t n, size_t size)
{
	if (n > 0)
		host->sent(array, (size_t)n * size);
}

void sent_string(const char *text)
{
	char piece[64];
	size_t len = 0, got, n;

	do {
		got = host->copy(piece, text + len, sizeof(piece) - (uintptr_t)(text + len) % sizeof(piece));
		n = strnlen(piece, got);
		len += n;
	} while (got && n == got);
	host->sent(text, len + 1);
}

void sent_strings(char *const *strings, int n)
{
	char *one;
	int i = 0;

	for (; i != n && host->copy(&one, strings + i, sizeof(one)) == sizeof(one) && one; i++)
		sent_string(one);
	sent_array((const char *)strings, n < 0 ? i + 1 : n, sizeof(one));
}

int sent_dims(const struct vcomm *comm)
{
	int n = 0, kind = MPI_UNDEFINED;

	if (comm->o.real)
		PMPI_Topo_test(REAL(MPI_Comm, comm->o.real), &kind);
	if (kind == MPI_CART)
		PMPI_Cartdim_get(REAL(MPI_Comm, comm->o.real), &n);
	return n;
}

int64_t sent_last(const int *array, int n)
{
	int last = 0;

	if (n > 0)
		host->copy(&last, array + n - 1, sizeof(last));
	return last;
}

int64_t sent_sum(const int *array, int n)
{
	int64_t sum = 0;
	int one;

	for (int i = 0; i < n && host->copy(&one, array + i, sizeof(one)) == sizeof(one); i++)
		sum += one;
	return sum;
}

/* ---- calls that read memory given when the request was made ---- */

static void start(void *const *upper)
{
	void *handle;
	const struct vreq *request;

	if (host->copy(&handle, upper, sizeof(handle)) != sizeof(handle))
		return;
	request = request_of(rdb_id(RDB_REQUEST, handle));
	if (request->persistent && !request->receive && !request->partitioned && request->type)
		sent_typed(request->buf, request->count, request->type);
}

void sent_by_Start(const uint64_t *a)
{
	start((void *const *)a[0]);
}

void sent_by_Startall(const uint64_t *a)
{
	for (int i = 0; i < (int)a[0]; i++)
		start((void *const *)a[1] + i);
}

static void ready(uint64_t id, int64_t first, int64_t last)
{
	const struct vreq *request = request_of(id);

	if (!request->partitioned || request->pending || !request->type)
		return;
	for (int64_t i = first; i <= last; i++)
		sent_typed((const char *)request->buf + i * request->room * request->type->extent, request->room,
			   request->type);
}

void sent_by_Pready(const uint64_t *a)
{
	ready(a[1], (int)a[0], (int)a[0]);
}

void sent_by_Pready_range(const uint64_t *a)
{
	ready(a[2], (int)a[0], (int)a[1]);
}

void sent_by_Pready_list(const uint64_t *a)
{
	int one;

	for (int i = 0; i < (int)a[0] && host->copy(&one, (const int *)a[1] + i, sizeof(one)) == sizeof(one); i++)
		ready(a[2], one, one);
}
