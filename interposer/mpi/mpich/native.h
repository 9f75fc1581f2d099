/* MPICH's ABI (libmpi.so.12, in Debian libmpich.so.12): handles are numbers, those of files are pointers. */
#pragma once

typedef int MPI_Comm, MPI_Datatype, MPI_Group, MPI_Op, MPI_Request, MPI_Message, MPI_Info, MPI_Errhandler, MPI_Win,
	MPI_Session;
typedef void *MPI_File;
typedef struct {
	int count_lo, count_hi_and_cancelled;
	int MPI_SOURCE, MPI_TAG, MPI_ERROR;
} MPI_Status;
enum { NATIVE_ABI = -1, NATIVE_SUBABI = -1 };
enum { NATIVE_ERR_ABI = 81 }; /* MPI_ERR_ABI: the value is set already */

/* Handles of the program's objects: bits 31 and 30 are "10" (direct), four bits are the class, the rest is the id. */
static inline uint32_t native_dynamic_id(unsigned class, int64_t native)
{
	if (class == RDB_FILE)
		return native < 4096 ? 0 : rdb_id(class, (void *)native);
	return (uint32_t)native >> 26 == (0x20 | class) ? (uint32_t)native & 0x3ffffff : 0;
}

static inline int64_t native_dynamic(unsigned class, uint32_t id)
{
	return class == RDB_FILE ? (int64_t)(uintptr_t)rdb_handle(class, id)
				 : (int32_t)(0x80000000u | class << 26 | id);
}

static inline void shim_status_in(struct rdb_status *core, const MPI_Status *status)
{
	*core = (struct rdb_status){
		.source = shim_rank_in(status->MPI_SOURCE),
		.tag = shim_tag_in(status->MPI_TAG),
		.error = shim_error_in(status->MPI_ERROR),
		.cancelled = status->count_hi_and_cancelled & 1,
		.bytes = (size_t)((uint32_t)status->count_hi_and_cancelled >> 1) << 32 | (uint32_t)status->count_lo,
	};
}

static inline void shim_status_out(MPI_Status *status, const struct rdb_status *core)
{
	*status = (MPI_Status){
		.count_lo = (int)(uint32_t)core->bytes,
		.count_hi_and_cancelled = (int)((uint32_t)(core->bytes >> 32) << 1 | (core->cancelled & 1)),
		.MPI_SOURCE = shim_rank_out(core->source),
		.MPI_TAG = shim_tag_out(core->tag),
		.MPI_ERROR = shim_error_out(core->error),
	};
}
