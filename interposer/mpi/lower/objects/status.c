#include "lower/objects/real.h"

const MPI_Status status_empty = {.MPI_SOURCE = MPI_ANY_SOURCE, .MPI_TAG = MPI_ANY_TAG};

int64_t status_bytes(const MPI_Status *status)
{
#ifdef OPEN_MPI
	return (int64_t)status->_ucount; /* MPI_Get_elements_x(MPI_BYTE) without the call */
#else
	MPI_Count bytes;

	return PMPI_Get_elements_x(status, MPI_BYTE, &bytes) == MPI_SUCCESS ? bytes : 0;
#endif
}

bool status_cancelled(const MPI_Status *status)
{
	int flag = 0;

	return PMPI_Test_cancelled(status, &flag) == MPI_SUCCESS && flag;
}

void status_in(MPI_Status *status, const struct upper_status *upper)
{
	*status = status_empty;
	if (!upper)
		return;
	status->MPI_SOURCE = rank_in(upper->source);
	status->MPI_TAG = tag_in(upper->tag);
	status->MPI_ERROR = error_in(upper->error);
	PMPI_Status_set_cancelled(status, upper->cancelled);
	PMPI_Status_set_elements_x(status, MPI_BYTE, (MPI_Count)upper->bytes);
}

void status_store(struct upper_status *upper, const MPI_Status *status, bool with_error)
{
	upper->source = rank_out(status->MPI_SOURCE);
	upper->tag = tag_out(status->MPI_TAG);
	if (with_error)
		upper->error = error_out(status->MPI_ERROR);
	upper->cancelled = status_cancelled(status);
	upper->bytes = (size_t)status_bytes(status);
}

void status_out(struct upper_status *upper, const MPI_Status *status, bool with_error)
{
	if (!upper)
		return;
	status_store(upper, status, with_error);
	host->out(upper, sizeof(*upper));
}
