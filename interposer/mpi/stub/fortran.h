/* Functions of libmpi that Open MPI's Fortran library, which runs in the program, needs besides the C functions.
 *
 * It converts Fortran's numbers to C handles and looks into some of these objects itself.  Such handles have a body
 * that fits the layouts of both Open MPI 4.1 and 5.0.
 */
#pragma once
#include "stub.h"

/* Fortran's numbers: those of predefined handles are in mpif.h; other objects have their id, which is larger. */
struct rdb_fortran_table {
	const uint16_t *ids;
	uint32_t count;
};
extern const struct rdb_fortran_table rdb_fortran[RDB_CLASSES];

/* generalized.c: whether it is a generalized request, which has a body. */
int rdb_generalized(uint32_t request);

MPI_Fint rdb_fortran_number(unsigned class, const void *handle);
void *rdb_fortran_handle(unsigned class, MPI_Fint number);

/* bodies.c: the body of an object that the Fortran library looks into; the caller fills it. */
struct rdb_body {
	union {
		struct rdb_predef handle;
		uint64_t words[64];
		uint8_t bytes[512];
	};
};
/* Offsets in Open MPI's structures; names with _5 are of 5.0, others of 4.1.  GREQUEST_LIVES is ours. */
enum {
	REQUEST_COMPLETE = 0x58, /* 5.0: unless it is 1, the library stores there what to free at completion */
	OP_FLAGS = 0x54,
	OP_IS_FORTRAN = 2,
	GREQUEST_IS_C = 0xc0,
	GREQUEST_LIVES = 0x1f0,
	REQUEST_NUMBER = 0x68,
	COMM_FLAGS = 0xe8,
	COMM_FLAGS_5 = 0xe0,
	COMM_IS_INTER = 1,
	COMM_LOCAL_GROUP = 0xf8,
	COMM_REMOTE_GROUP = 0x100,
	COMM_LOCAL_GROUP_5 = 0x108,
	COMM_REMOTE_GROUP_5 = 0x110, /* COMM_ATTRIBUTES in 4.1, so one table serves as both */
	GROUP_SIZE = 0x10,
	COMM_ATTRIBUTES = 0x110,
	COMM_ATTRIBUTES_5 = 0x120,
	TYPE_ATTRIBUTES = 0xd0,
	WIN_ATTRIBUTES = 0xf0,
};
/* May an object have that number?  The Fortran library converts output arguments, too, which hold anything. */
int rdb_body_fits(MPI_Fint number);
struct rdb_body *rdb_body(unsigned class, uint32_t id);
struct rdb_body *rdb_body_known(unsigned class, uint32_t id); /* NULL: it has no body */
/* Fills in members that the Fortran library reads. */
void rdb_body_look(struct rdb_body *body);
/* The object of this table of attributes; `table` itself if it is not such a table. */
const struct rdb_predef *rdb_body_of_table(const void *table);
void rdb_body_of_request(MPI_Request *request);
void *rdb_request_looked_into(MPI_Fint number);
struct rdb_body *rdb_persistent_body(uint32_t id); /* persistent.c; NULL: not a persistent collective */
void rdb_body_forget(unsigned class, uint32_t id);

/* local.c: whether the real MPI is initialized and not finalized */
int rdb_alive(void);
