/* Functions with large counts that the generator cannot make from the small ones (gen/rows_large.py). */
#include "callbacks.h"
#include "stub.h"

enum { MPI_UNDEFINED = -32766 };

static int fits(MPI_Count value)
{
	return value <= INT32_MAX && value >= INT32_MIN;
}

static int clamped(MPI_Count value)
{
	return value > INT32_MAX ? INT32_MAX : (int)value;
}

RDB_MPI(int, Get_count_c, const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count)
{
	MPI_Count size = 0;
	int err = PMPI_Type_size_x(datatype, &size);

	if (err)
		return err;
	if (size)
		*count = status->bytes % (size_t)size ? MPI_UNDEFINED : (MPI_Count)(status->bytes / (size_t)size);
	else
		*count = status->bytes ? MPI_UNDEFINED : 0;
	return MPI_SUCCESS;
}

RDB_MPI(int, Get_elements_c, const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count)
{
	return PMPI_Get_elements_x(status, datatype, count);
}

RDB_MPI(int, Status_set_elements_c, MPI_Status *status, MPI_Datatype datatype, MPI_Count count)
{
	return PMPI_Status_set_elements_x(status, datatype, count);
}

RDB_MPI(int, Type_size_c, MPI_Datatype datatype, MPI_Count *size)
{
	return PMPI_Type_size_x(datatype, size);
}

/* Packed data does not depend on its position in the buffer, so the call gets the buffer from `position` on. */
RDB_MPI(int, Pack_c, const void *inbuf, MPI_Count incount, MPI_Datatype datatype, void *outbuf, MPI_Count outsize,
	MPI_Count *position, MPI_Comm comm)
{
	int at = 0, err;
	const uint64_t args[] = {(uint64_t)inbuf,
				 (uint64_t)incount,
				 rdb_id(RDB_TYPE, datatype),
				 (uint64_t)((char *)outbuf + *position),
				 (uint64_t)(int64_t)clamped(outsize - *position),
				 (uint64_t)&at,
				 rdb_id(RDB_COMM, comm)};

	err = (int)rdb_call(RDB_Pack, COUNT(args), args);
	if (err)
		return rdb_error(comm, err, "MPI_Pack_c");
	*position += at;
	return MPI_SUCCESS;
}

RDB_MPI(int, Unpack_c, const void *inbuf, MPI_Count insize, MPI_Count *position, void *outbuf, MPI_Count outcount,
	MPI_Datatype datatype, MPI_Comm comm)
{
	int at = 0, err;
	const uint64_t args[] = {(uint64_t)((const char *)inbuf + *position),
				 (uint64_t)(int64_t)clamped(insize - *position),
				 (uint64_t)&at,
				 (uint64_t)outbuf,
				 (uint64_t)outcount,
				 rdb_id(RDB_TYPE, datatype),
				 rdb_id(RDB_COMM, comm)};

	err = (int)rdb_call(RDB_Unpack, COUNT(args), args);
	if (err)
		return rdb_error(comm, err, "MPI_Unpack_c");
	*position += at;
	return MPI_SUCCESS;
}

static MPI_Count attached;

/* The library uses at most INT_MAX bytes of a larger buffer. */
RDB_MPI(int, Buffer_attach_c, void *buffer, MPI_Count size)
{
	int err = PMPI_Buffer_attach(buffer, clamped(size));

	if (!err)
		attached = size;
	return err;
}

RDB_MPI(int, Buffer_detach_c, void *buffer_addr, MPI_Count *size)
{
	int small = 0, err = PMPI_Buffer_detach(buffer_addr, &small);

	if (!err)
		*size = small == INT32_MAX ? attached : small;
	return err;
}

RDB_MPI(int, Win_create_c, void *base, MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
	if (!fits(unit))
		return rdb_error(comm, MPI_ERR_ARG, "MPI_Win_create_c");
	return PMPI_Win_create(base, size, (int)unit, info, comm, win);
}

RDB_MPI(int, Win_allocate_c, MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm comm, void *baseptr, MPI_Win *win)
{
	if (!fits(unit))
		return rdb_error(comm, MPI_ERR_ARG, "MPI_Win_allocate_c");
	return PMPI_Win_allocate(size, (int)unit, info, comm, baseptr, win);
}

RDB_MPI(int, Win_allocate_shared_c, MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm comm, void *baseptr,
	MPI_Win *win)
{
	if (!fits(unit))
		return rdb_error(comm, MPI_ERR_ARG, "MPI_Win_allocate_shared_c");
	return PMPI_Win_allocate_shared(size, (int)unit, info, comm, baseptr, win);
}

RDB_MPI(int, Win_shared_query_c, MPI_Win win, int rank, MPI_Aint *size, MPI_Aint *unit, void *baseptr)
{
	int small = 0, err = PMPI_Win_shared_query(win, rank, size, &small, baseptr);

	if (!err)
		*unit = small;
	return err;
}
