/* What Open MPI's Fortran library, which runs in the program, needs of libmpi besides the C functions.
 *
 * Its functions turn Fortran's numbers into C's handles and look into some of these themselves: such handles have a body
 * of the layouts of Open MPI 4.1 and 5.0 at once.
 */
#ifndef RDB_MPI_FORTRAN_H
#define RDB_MPI_FORTRAN_H
#include "stub.h"

/* The numbers of predefined handles are mpif.h's; an object of the program's has its id, which is larger. */
struct rdb_fortran_table {
	const uint16_t *ids;
	uint32_t count;
};
extern const struct rdb_fortran_table rdb_fortran[RDB_CLASSES];

/* generalized.c: is it one that has a body? */
int rdb_generalized(uint32_t request);

MPI_Fint rdb_fortran_number(unsigned class, const void *handle);
void *rdb_fortran_handle(unsigned class, MPI_Fint number);

/* bodies.c: the handle of an object that can be looked into; what is in it is for the caller to say. */
struct rdb_body {
	union {
		struct rdb_predef handle;
		uint64_t words[64];
		uint8_t bytes[512];
	};
};
/* Offsets in Open MPI's structures, in those of 4.1 where nothing is said; GREQUEST_LIVES is ours. */
enum {
	REQUEST_COMPLETE = 0x58, /* 5.0: not 1, and the library stores what to free at completion */
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
	COMM_REMOTE_GROUP_5 = 0x110, /* in 4.1 COMM_ATTRIBUTES: the remote group is that table, too */
	GROUP_SIZE = 0x10,
	COMM_ATTRIBUTES = 0x110,
	COMM_ATTRIBUTES_5 = 0x120,
	TYPE_ATTRIBUTES = 0xd0,
	WIN_ATTRIBUTES = 0xf0,
};
struct rdb_body *rdb_body(unsigned class, uint32_t id);
struct rdb_body *rdb_body_known(unsigned class, uint32_t id); /* NULL: there is none */
void rdb_body_look(struct rdb_body *body);
/* The object whose table of attributes this is; else what was given. */
const struct rdb_predef *rdb_body_of_table(const void *table);
void rdb_body_of_request(MPI_Request *request);
void *rdb_request_looked_into(MPI_Fint number);
struct rdb_body *rdb_persistent_body(uint32_t id); /* persistent.c; NULL: not of its requests */
void rdb_body_forget(unsigned class, uint32_t id);

/* local.c: between MPI_Init and MPI_Finalize */
int rdb_alive(void);

#endif
