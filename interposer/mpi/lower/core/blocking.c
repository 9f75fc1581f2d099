/* Blocking calls of a program with several threads. */
#include "lower/objects/observer.h"

enum { LONG = 8192 }; /* elements; such a send may wait so long for its receiver that other threads should run */

int waited(MPI_Request *real, MPI_Status *status)
{
	int flag = 0;
	int rc;

	if (observer)
		return observer->wait(real, status, false);
	if (apart()) {
		rc = PMPI_Test(real, &flag, status);
		if (flag || rc != MPI_SUCCESS)
			return rc;
	}
	while (host->idle()) {
		rc = PMPI_Test(real, &flag, status);
		if (flag || rc != MPI_SUCCESS)
			return rc;
	}
	return BLOCKING(PMPI_Wait(real, status));
}

int waited_sent(MPI_Request *real)
{
	MPI_Status status;

	return observer ? observer->wait(real, &status, true) : waited(real, &status);
}

void idle_until_message(int source, int tag, MPI_Comm comm)
{
	int flag = 0;

	while (host->idle())
		if (PMPI_Iprobe(source, tag, comm, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS || flag)
			return;
}

int sent(send_call *call, isend_call *start, const void *buf, int count, MPI_Datatype type, int dest, int tag,
	 MPI_Comm comm)
{
	MPI_Request real;
	int rc;

	if (!apart() && count < LONG)
		return BLOCKING(call(buf, count, type, dest, tag, comm));
	rc = start(buf, count, type, dest, tag, comm, &real);
	return rc == MPI_SUCCESS ? waited_sent(&real) : rc;
}
