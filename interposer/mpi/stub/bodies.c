/* Bodies of objects that Open MPI's Fortran library looks into: found by class and id, never freed. */
#include "fortran.h"

#define PAGE_BODIES 64
#define PAGES 32768

static struct rdb_lock lock;
static struct rdb_body *pages[RDB_CLASSES][PAGES];

int rdb_body_fits(MPI_Fint number)
{
	return number >= RDB_FIRST_DYNAMIC && number / PAGE_BODIES < PAGES;
}

struct rdb_body *rdb_body_known(unsigned class, uint32_t id)
{
	struct rdb_body *page = id / PAGE_BODIES < PAGES ? pages[class][id / PAGE_BODIES] : NULL;

	return page ? &page[id % PAGE_BODIES] : NULL;
}

struct rdb_body *rdb_body(unsigned class, uint32_t id)
{
	struct rdb_body *body;

	if (id / PAGE_BODIES >= PAGES)
		rdb_unsupported("the program has more Fortran handles than rdb supports (2,097,151)");
	rdb_lock(&lock);
	if (!pages[class][id / PAGE_BODIES])
		pages[class][id / PAGE_BODIES] = rdb_map(PAGE_BODIES * sizeof(*body));
	rdb_unlock(&lock);
	body = rdb_body_known(class, id);
	if (!body)
		rdb_unsupported("out of memory for a Fortran handle of the program");
	body->handle.magic = RDB_PREDEF_MAGIC;
	body->handle.class = (uint16_t) class;
	body->handle.id = id;
	return body;
}

/* Offsets of our own data, behind Open MPI's structures.  TABLE begins with its own address and that of the object. */
enum { LOCAL = 0x180, TABLE = 0x1a0, LOOKED = 0x1f8 };

static int64_t *at(struct rdb_body *body, unsigned offset)
{
	return (int64_t *)(body->bytes + offset);
}

/* The Fortran MPI_Alltoallw reads the sizes of the communicator's groups without calling libmpi: makes two groups that
 * have only a size. */
static void comm_look(struct rdb_body *comm)
{
	uint64_t id = comm->handle.id;
	int inter = 0, size = 0, remote = 0;

	if (*at(comm, LOOKED) || !rdb_alive() || id <= RDB_NULL_ID)
		return;
	if (rdb_call(RDB_Comm_test_inter, 2, (uint64_t[]){id, (uint64_t)&inter}) ||
	    rdb_call(RDB_Comm_size, 2, (uint64_t[]){id, (uint64_t)&size}))
		return;
	if (inter && rdb_call(RDB_Comm_remote_size, 2, (uint64_t[]){id, (uint64_t)&remote}))
		return;
	*at(comm, COMM_FLAGS) = *at(comm, COMM_FLAGS_5) = inter ? COMM_IS_INTER : 0;
	*at(comm, COMM_LOCAL_GROUP) = *at(comm, COMM_LOCAL_GROUP_5) = (int64_t)at(comm, LOCAL);
	*at(comm, COMM_REMOTE_GROUP) = *at(comm, COMM_REMOTE_GROUP_5) = (int64_t)at(comm, TABLE);
	*at(comm, LOCAL + GROUP_SIZE) = size;
	*at(comm, TABLE + GROUP_SIZE) = inter ? remote : size;
	*at(comm, LOOKED) = 1;
}

/* The Fortran library passes the table of an object's attributes in place of the object. */
void rdb_body_look(struct rdb_body *body)
{
	static const unsigned tables[RDB_CLASSES] = {
		[RDB_COMM] = COMM_ATTRIBUTES, [RDB_TYPE] = TYPE_ATTRIBUTES, [RDB_WIN] = WIN_ATTRIBUTES};

	*at(body, TABLE) = (int64_t)at(body, TABLE);
	*at(body, TABLE + 8) = (int64_t)body;
	*at(body, tables[body->handle.class]) = (int64_t)at(body, TABLE);
	if (body->handle.class != RDB_COMM)
		return;
	*at(body, COMM_ATTRIBUTES_5) = (int64_t)at(body, TABLE);
	comm_look(body);
}

const struct rdb_predef *rdb_body_of_table(const void *table)
{
	const uint64_t *words = table;

	return words && words[0] == (uint64_t)words ? (const void *)words[1] : table;
}

/* Open MPI 5's Fortran library looks into the requests of these collectives.  The calls have read their arrays, so the
 * request is marked complete and the library frees the arrays at once. */
void rdb_body_of_request(MPI_Request *request)
{
	uint32_t id = rdb_id(RDB_REQUEST, *request);
	struct rdb_body *body;

	if (!rdb_body_fits((MPI_Fint)id))
		return; /* only C programs have so many requests, and they do not look */
	body = rdb_body(RDB_REQUEST, id);
	*at(body, REQUEST_COMPLETE) = 1;
	*request = (MPI_Request)&body->handle;
}

/* The Fortran library reads the number of a request that a call has not changed (a persistent request). */
void *rdb_request_looked_into(MPI_Fint number)
{
	struct rdb_body *body = number >= RDB_FIRST_DYNAMIC ? rdb_persistent_body((uint32_t)number) : NULL;

	if (!body && !rdb_body_fits(number))
		return rdb_fortran_handle(RDB_REQUEST, number);
	if (!body)
		body = rdb_body(RDB_REQUEST, (uint32_t)number);
	*at(body, REQUEST_NUMBER) = number;
	return &body->handle;
}

/* Another object may get the id.  The handle itself stays valid, because the object is still to be freed below. */
void rdb_body_forget(unsigned class, uint32_t id)
{
	struct rdb_body *body = rdb_body_known(class, id);

	if (body && id >= RDB_FIRST_DYNAMIC)
		memset(body->bytes + sizeof(body->handle), 0, sizeof(*body) - sizeof(body->handle));
}
