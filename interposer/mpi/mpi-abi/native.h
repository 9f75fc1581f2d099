/* The standard ABI of MPI-5 (libmpi_abi.so.1): handles are pointers; predefined ones are small numbers. */
#pragma once

typedef void *MPI_Comm, *MPI_Datatype, *MPI_Group, *MPI_Op, *MPI_Request, *MPI_Message, *MPI_Info, *MPI_Errhandler,
	*MPI_Win, *MPI_File, *MPI_Session;
typedef struct {
	int MPI_SOURCE, MPI_TAG, MPI_ERROR;
	int cancelled, bytes_low, bytes_high, reserved[2];
} MPI_Status;
enum { NATIVE_ABI = 1, NATIVE_SUBABI = 0 };
enum { NATIVE_ERR_ABI = 62 }; /* MPI_ERR_ABI: the value is set already */

static inline uint32_t native_dynamic_id(unsigned class, int64_t native)
{
	return native < 4096 ? 0 : rdb_id(class, (void *)native);
}

static inline int64_t native_dynamic(unsigned class, uint32_t id)
{
	return (int64_t)(uintptr_t)rdb_handle(class, id);
}

static inline void shim_status_in(struct rdb_status *core, const MPI_Status *status)
{
	*core = (struct rdb_status){
		.source = shim_rank_in(status->MPI_SOURCE),
		.tag = shim_tag_in(status->MPI_TAG),
		.error = shim_error_in(status->MPI_ERROR),
		.cancelled = status->cancelled,
		.bytes = (size_t)(uint32_t)status->bytes_high << 32 | (uint32_t)status->bytes_low,
	};
}

static inline void shim_status_out(MPI_Status *status, const struct rdb_status *core)
{
	*status = (MPI_Status){
		.MPI_SOURCE = shim_rank_out(core->source),
		.MPI_TAG = shim_tag_out(core->tag),
		.MPI_ERROR = shim_error_out(core->error),
		.cancelled = core->cancelled,
		.bytes_low = (int)(uint32_t)core->bytes,
		.bytes_high = (int)(core->bytes >> 32),
	};
}
