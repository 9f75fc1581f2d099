/* Receives of which the last element is incomplete.  Behind what has come there is no memory. */
#include <sys/mman.h>
#include <unistd.h>
#include "check.h"

enum { INTS = 4, EVERY = 300 }; /* an element: so many ints, one in each EVERY */

static int *edge; /* there is memory before it, and none behind it */
static MPI_Datatype row;

static void expect(const int *got)
{
	for (int i = 0; i < INTS / 2; i++) {
		CHECK(got[i * EVERY] == 100 * rank + i);
		CHECK(i + 1 == INTS / 2 || got[i * EVERY + 1] == -1);
	}
}

static int *place(void)
{
	int *at = edge - (INTS / 2 - 1) * EVERY - 1;

	for (int *i = at; i < edge; i++)
		*i = -1;
	return at;
}

int main(int argc, char **argv)
{
	const int page = (int)sysconf(_SC_PAGESIZE);
	int sent[INTS / 2], *at, there;
	char *pages = mmap(NULL, 8 * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MPI_Comm self;
	MPI_Message message;
	MPI_Request requests[2];
	MPI_Status status;

	begin(&argc, &argv);
	CHECK(pages != MAP_FAILED && !mprotect(pages + 4 * page, 4 * (size_t)page, PROT_NONE));
	edge = (int *)(pages + 4 * page);
	for (int i = 0; i < INTS / 2; i++)
		sent[i] = 100 * rank + i;
	MPI_Comm_dup(MPI_COMM_SELF, &self);
	MPI_Type_vector(INTS, 1, EVERY, MPI_INT, &row);
	MPI_Type_commit(&row);

	at = place();
	MPI_Irecv(at, 1, row, 0, 1, self, &requests[0]);
	MPI_Isend(sent, INTS / 2, MPI_INT, 0, 1, self, &requests[1]);
	MPI_Wait(&requests[0], &status);
	MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
	expect(at);
	MPI_Get_elements(&status, row, &there);
	CHECK(there == INTS / 2);

	at = place();
	MPI_Isend(sent, INTS / 2, MPI_INT, 0, 2, self, &requests[1]);
	MPI_Recv(at, 1, row, 0, 2, self, &status);
	MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
	expect(at);

	at = place();
	MPI_Isend(sent, INTS / 2, MPI_INT, 0, 3, self, &requests[1]);
	MPI_Mprobe(0, 3, self, &message, MPI_STATUS_IGNORE);
	MPI_Mrecv(at, 1, row, &message, &status);
	MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
	expect(at);

	at = place();
	MPI_Sendrecv(sent, INTS / 2, MPI_INT, 0, 4, at, 1, row, 0, 4, self, &status);
	expect(at);

	MPI_Type_free(&row);
	MPI_Comm_free(&self);
	return end();
}
