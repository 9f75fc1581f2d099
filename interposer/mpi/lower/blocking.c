/* Blocking calls of a program with several threads. */
#include "together.h"

int waited(MPI_Request *real, MPI_Status *status)
{
	int flag = 0;
	int rc;

	if (together_on)
		return together_wait(real, status);
	if (apart()) {
		rc = PMPI_Test(real, &flag, status);
		if (flag || rc != MPI_SUCCESS)
			return rc;
	}
	return BLOCKING(PMPI_Wait(real, status));
}

int sent(send_call *call, isend_call *start, const void *buf, int count, MPI_Datatype type, int dest, int tag,
	 MPI_Comm comm)
{
	MPI_Status status;
	MPI_Request real;
	int rc;

	if (!apart())
		return BLOCKING(call(buf, count, type, dest, tag, comm));
	rc = start(buf, count, type, dest, tag, comm, &real);
	return rc == MPI_SUCCESS ? waited(&real, &status) : rc;
}
