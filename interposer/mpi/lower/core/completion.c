/* MPI_Wait*, MPI_Test*: completing requests, one or many. */
#include "lower/core/requests.h"
#include "lower/objects/observer.h"

#define MANY_INLINE 16

/* Arrays for the real MPI's calls. */
struct many {
	MPI_Request *real;
	struct vreq **request;
	MPI_Status *status;
	int *index;
	void *room; /* heap memory, if there are more than MANY_INLINE */
	MPI_Request real_inline[MANY_INLINE];
	struct vreq *request_inline[MANY_INLINE];
	MPI_Status status_inline[MANY_INLINE];
	int index_inline[MANY_INLINE];
};

static void many_load(struct many *many, int count, void **upper)
{
	size_t n = count > 0 ? count : 0;

	many->real = many->real_inline;
	many->request = many->request_inline;
	many->status = many->status_inline;
	many->index = many->index_inline;
	many->room = NULL;
	if (n > MANY_INLINE) {
		many->room = needed(
			malloc(n * (sizeof(MPI_Status) + sizeof(MPI_Request) + sizeof(void *) + sizeof(int))));
		many->status = many->room;
		many->real = (void *)(many->status + n);
		many->request = (void *)(many->real + n);
		many->index = (void *)(many->request + n);
	}
	for (size_t i = 0; i < n; i++) {
		many->request[i] = request_at(upper + i);
		many->real[i] = many->request[i]->o.real;
		many->status[i] = status_empty;
	}
}

/* While this thread waits, other threads must not test these requests (early.c), and a checkpoint may put others in
 * their place (request_ended). */
static void many_wait(struct many *many, int count, bool waits)
{
	for (int i = 0; i < count; i++)
		many->request[i]->waiting = waits ? &many->real[i] : NULL;
}

/* After the real call, which left `real` in place of the request. */
static void settle(struct vreq *request, MPI_Request real, const MPI_Status *status, void **upper, bool tell)
{
	if (request->o.id < RDB_FIRST_DYNAMIC)
		return;
	if (is_class(status->MPI_ERROR, MPI_ERR_PENDING) || (!request->persistent && real != MPI_REQUEST_NULL)) {
		request->o.real = real;
		return;
	}
	/* Open MPI also frees a persistent request that fails (ompi_errhandler_request_invoke) */
	bool freed = status->MPI_ERROR != MPI_SUCCESS && real == MPI_REQUEST_NULL && !request->instead &&
		     !request->kept;

	request_complete(request, status);
	if (request->persistent && !freed)
		return;
	if (tell)
		put_handle(upper, RDB_REQUEST, RDB_NULL_ID);
	else
		*upper = upper_handle(RDB_REQUEST, RDB_NULL_ID);
	object_drop(&request->o);
}

/* request, status */
int64_t real_Wait(const uint64_t *a)
{
	void **upper = (void **)a[0];
	struct vreq *request = request_at(upper);
	struct vcomm *comm = request_comm(request);
	MPI_Request real = request->o.real;
	MPI_Status status = status_empty;
	int rc;

	request->waiting = &real;
	rc = upper ? waited(&real, &status) : PMPI_Wait(NULL, &status);
	request->waiting = NULL;
	int64_t result = failure(rc, comm);
	if (has_come(rc)) {
		status.MPI_ERROR = rc;
		settle(request, real, &status, upper, true);
		status_out((void *)a[1], &status, false);
	}
	return result;
}

/* request, flag, status */
int64_t real_Test(const uint64_t *a)
{
	void **upper = (void **)a[0];
	struct vreq *request = request_at(upper);
	struct vcomm *comm = request_comm(request);
	MPI_Request real = request->o.real;
	MPI_Status status = status_empty;
	int flag = 0;
	int rc = PMPI_Test(upper ? &real : NULL, a[1] ? &flag : NULL, &status);
	int64_t result = failure(rc, comm);

	if (!has_come(rc))
		return result;
	put((void *)a[1], &flag, sizeof(flag));
	if (flag || rc != MPI_SUCCESS) {
		status.MPI_ERROR = rc;
		settle(request, real, &status, upper, true);
		status_out((void *)a[2], &status, false);
	}
	return result;
}

/* request, flag, status */
int64_t real_Request_get_status(const uint64_t *a)
{
	uint32_t id = a[0];
	struct vreq *request = request_of(id);
	MPI_Status status = status_empty;
	int flag = 0;
	int rc = PMPI_Request_get_status(request->o.real, a[1] ? &flag : NULL, &status);

	if (rc != MPI_SUCCESS)
		return failure(rc, request_comm(request));
	put((void *)a[1], &flag, sizeof(flag));
	if (flag) {
		request_peek(request, &status);
		status_out((void *)a[2], &status, !SETS_ERROR && id <= RDB_NULL_ID);
	}
	return rc;
}

/* Waiting at a place where the program may be held: tests until done. */
struct asking {
	struct many *many;
	int count, done, index, flag, rc;
};

/* As MPI_Waitall, if it need not wait.  MPI_Testall of MPICH takes partitioned requests for failed ones
 * (MPIR_Request_get_error). */
static int all_come(struct many *many, int count, int *flag)
{
	bool partitioned = false;
	MPI_Status status;

	for (int i = 0; i < count; i++)
		partitioned |= many->request[i]->partitioned;
	if (!partitioned)
		return PMPI_Testall(count, many->real, flag, many->status);
	*flag = true;
	for (int i = 0; i < count && *flag; i++)
		if (PMPI_Request_get_status(many->real[i], flag, &status) != MPI_SUCCESS)
			*flag = true;
	return *flag ? PMPI_Waitall(count, many->real, many->status) : MPI_SUCCESS;
}

static bool all_done(void *arg)
{
	struct asking *q = arg;

	if (!q->flag)
		q->rc = all_come(q->many, q->count, &q->flag);
	return q->flag || q->rc != MPI_SUCCESS;
}

static bool any_is_done(void *arg)
{
	struct asking *q = arg;

	if (!q->flag)
		q->rc = PMPI_Testany(q->count, q->many->real, &q->index, &q->flag, &q->many->status[0]);
	return q->flag || q->rc != MPI_SUCCESS;
}

static bool some_done(void *arg)
{
	struct asking *q = arg;

	if (!q->done)
		q->rc = PMPI_Testsome(q->count, q->many->real, &q->done, q->many->index, q->many->status);
	return q->done || q->rc != MPI_SUCCESS;
}

/* The error goes to the communicator of the first request that failed. */
static int64_t many_failure(const struct many *many, int rc, int count)
{
	for (int i = 0; i < count; i++) {
		if (many->request[i]->o.id && many->request[i]->comm &&
		    (!is_class(rc, MPI_ERR_IN_STATUS) || many->status[i].MPI_ERROR != MPI_SUCCESS))
			return failure(rc, many->request[i]->comm);
	}
	return rc;
}

/* ALL: of MPI_Waitall. */
static void many_settle_all(struct many *many, int rc, int count, void **upper, struct upper_status *statuses, bool all)
{
	const bool error = SETS_ERROR || is_class(rc, MPI_ERR_IN_STATUS);

	for (int i = 0; i < count; i++) {
		const bool null = many->request[i]->o.id <= RDB_NULL_ID;
		const bool sets = error || (null ? SETS_ERROR_OF_NULL : all);

		settle(many->request[i], many->real[i], &many->status[i], upper + i, false);
		if (statuses)
			status_store(statuses + i, &many->status[i], sets);
	}
	if (count > 0)
		host->out(upper, count * sizeof(*upper));
	if (statuses && count > 0)
		host->out(statuses, count * sizeof(*statuses));
}

/* count, array_of_requests, array_of_statuses */
int64_t real_Waitall(const uint64_t *a)
{
	int count = (int)a[0], rc = MPI_SUCCESS, flag = 0;
	int64_t result;
	struct many many;

	many_load(&many, count, (void **)a[1]);
	many_wait(&many, count, true);
	if (observer) {
		struct asking q = {.many = &many, .count = count};

		observer->until(all_done, &q);
		rc = q.rc;
		flag = true;
	} else if (apart())
		rc = all_come(&many, count, &flag);
	if (!flag && rc == MPI_SUCCESS)
		rc = BLOCKING(PMPI_Waitall(count, many.real, many.status));
	many_wait(&many, count, false);
	result = rc == MPI_SUCCESS ? 0 : many_failure(&many, rc, count);
	if (rc == MPI_SUCCESS || is_class(rc, MPI_ERR_IN_STATUS))
		many_settle_all(&many, rc, count, (void **)a[1], (void *)a[2], true);
	free(many.room);
	return result;
}

/* count, array_of_requests, flag, array_of_statuses */
int64_t real_Testall(const uint64_t *a)
{
	int count = (int)a[0], rc, flag = 0;
	int64_t result;
	struct many many;

	many_load(&many, count, (void **)a[1]);
	rc = PMPI_Testall(count, many.real, a[2] ? &flag : NULL, many.status);
	result = rc == MPI_SUCCESS ? 0 : many_failure(&many, rc, count);
	if (rc == MPI_SUCCESS || is_class(rc, MPI_ERR_IN_STATUS))
		put((void *)a[2], &flag, sizeof(flag));
	if ((flag && rc == MPI_SUCCESS) || is_class(rc, MPI_ERR_IN_STATUS))
		many_settle_all(&many, rc, count, (void **)a[1], (void *)a[3], false);
	free(many.room);
	return result;
}

static int64_t any_done(struct many *many, int rc, int index, void **upper, void *upper_index, void *upper_status)
{
	MPI_Status *status = &many->status[0];
	struct vcomm *comm;
	int64_t result = rc;

	if (index >= 0) {
		comm = request_comm(many->request[index]);
		result = failure(rc, comm);
	}
	if (has_come(rc)) {
		put(upper_index, &index, sizeof(index));
		status->MPI_ERROR = rc;
		if (index >= 0)
			settle(many->request[index], many->real[index], status, upper + index, true);
		status_out(upper_status, status, false);
	}
	free(many->room);
	return result;
}

/* At least one element, because the status of the completed request goes there. */
static void any_load(struct many *many, int count, void **upper)
{
	many_load(many, count > 0 ? count : 1, count > 0 ? upper : (void *[1]){0});
}

/* count, array_of_requests, index, status */
int64_t real_Waitany(const uint64_t *a)
{
	int index = MPI_UNDEFINED, rc = MPI_SUCCESS, flag = 0;
	struct many many;

	any_load(&many, (int)a[0], (void **)a[1]);
	many_wait(&many, (int)a[0], true);
	if (observer && a[2] && (int)a[0] >= 0) {
		struct asking q = {.many = &many, .count = (int)a[0]};

		observer->until(any_is_done, &q);
		rc = q.rc;
		index = q.index;
		flag = true;
	} else if (apart())
		rc = PMPI_Testany((int)a[0], many.real, a[2] ? &index : NULL, &flag, &many.status[0]);
	if (!flag && rc == MPI_SUCCESS)
		rc = BLOCKING(PMPI_Waitany((int)a[0], many.real, a[2] ? &index : NULL, &many.status[0]));
	many_wait(&many, (int)a[0], false);
	return any_done(&many, rc, index, (void **)a[1], (void *)a[2], (void *)a[3]);
}

/* count, array_of_requests, index, flag, status */
int64_t real_Testany(const uint64_t *a)
{
	int index = MPI_UNDEFINED, flag = 0, rc;
	struct many many;

	any_load(&many, (int)a[0], (void **)a[1]);
	rc = PMPI_Testany((int)a[0], many.real, a[2] ? &index : NULL, a[3] ? &flag : NULL, &many.status[0]);
	if (has_come(rc))
		put((void *)a[3], &flag, sizeof(flag));
	if (rc == MPI_SUCCESS && !flag) {
		put((void *)a[2], &index, sizeof(index));
		free(many.room);
		return rc;
	}
	return any_done(&many, rc, index, (void **)a[1], (void *)a[2], (void *)a[4]);
}

static void some_settle(struct many *many, int rc, int done, void **upper, struct upper_status *statuses)
{
	for (int i = 0; i < done; i++) {
		int k = many->index[i];

		settle(many->request[k], many->real[k], &many->status[i], upper + k, true);
		if (statuses)
			status_store(statuses + i, &many->status[i], SETS_ERROR || is_class(rc, MPI_ERR_IN_STATUS));
	}
	if (statuses)
		host->out(statuses, done * sizeof(*statuses));
}

/* incount, array_of_requests, outcount, array_of_indices, array_of_statuses */
static int64_t some(const uint64_t *a, bool wait)
{
	void **upper = (void **)a[1];
	int count = (int)a[0], done = 0, rc = MPI_SUCCESS;
	int *outcount = a[2] ? &done : NULL;
	int64_t result;
	struct many many;

	many_load(&many, count, upper);
	many_wait(&many, count, true);
	if (wait && observer && outcount) {
		struct asking q = {.many = &many, .count = count};

		observer->until(some_done, &q);
		rc = q.rc;
		done = q.done;
	} else if (!wait || apart())
		rc = PMPI_Testsome(count, many.real, outcount, many.index, many.status);
	if (wait && done == 0 && rc == MPI_SUCCESS)
		rc = BLOCKING(PMPI_Waitsome(count, many.real, outcount, many.index, many.status));
	many_wait(&many, count, false);
	result = rc == MPI_SUCCESS ? 0 : many_failure(&many, rc, count);
	if (rc == MPI_SUCCESS || is_class(rc, MPI_ERR_IN_STATUS)) {
		put((void *)a[2], &done, sizeof(done));
		if (done > 0) { /* not MPI_UNDEFINED: no active request */
			put((void *)a[3], many.index, done * sizeof(int));
			some_settle(&many, rc, done, upper, (struct upper_status *)a[4]);
		}
	}
	free(many.room);
	return result;
}

int64_t real_Waitsome(const uint64_t *a)
{
	return some(a, true);
}
int64_t real_Testsome(const uint64_t *a)
{
	return some(a, false);
}
