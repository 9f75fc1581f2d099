/* Blocking calls of a program with several threads. */
#include "together.h"

enum { LONG = 8192 }; /* elements: such a message may wait for its receiver long enough to do something meanwhile */

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
	int rc;

	together_sending++;
	rc = waited(real, &status);
	together_sending--;
	return rc;
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
