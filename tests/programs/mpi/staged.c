/* Where received data is kept.  staged HOW: prints by how many MiB this process' peak of memory grows while it receives
 * ALL bytes from itself.  staged faults [PATH]: also prints how many times later windows of receives, or of reads of a
 * file, took new pages. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { N = 16, BYTES = 4 << 20, ALL = N * BYTES, PAGE = 4096, WINDOWS = 10, FIRST = 2 };

static char *sent, *received;
static MPI_Request requests[2 * N];

static struct rusage used(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage;
}

static void send_all(void)
{
	for (int i = 0; i < N; i++)
		MPI_Isend(sent + i * BYTES, BYTES, MPI_BYTE, 0, i, MPI_COMM_SELF, &requests[N + i]);
}

static void window(int bytes, MPI_Datatype type)
{
	for (int i = 0; i < N; i++)
		MPI_Irecv(received + i * BYTES, bytes, type, 0, i, MPI_COMM_SELF, &requests[i]);
	send_all();
	MPI_Waitall(2 * N, requests, MPI_STATUSES_IGNORE);
}

static void persistent(void)
{
	for (int i = 0; i < N; i++)
		MPI_Recv_init(received + i * BYTES, BYTES, MPI_BYTE, 0, i, MPI_COMM_SELF, &requests[i]);
	MPI_Startall(N, requests);
	send_all();
	MPI_Waitall(2 * N, requests, MPI_STATUSES_IGNORE);
	for (int i = 0; i < N; i++)
		MPI_Request_free(&requests[i]);
}

static void matched(void)
{
	MPI_Message message;

	send_all();
	for (int i = 0; i < N; i++) {
		MPI_Mprobe(0, i, MPI_COMM_SELF, &message, MPI_STATUS_IGNORE);
		MPI_Imrecv(received + i * BYTES, BYTES, MPI_BYTE, &message, &requests[i]);
	}
	MPI_Waitall(2 * N, requests, MPI_STATUSES_IGNORE);
}

static void reads(MPI_File file)
{
	for (int i = 0; i < N; i++)
		MPI_File_iread_at(file, i * BYTES, received + i * BYTES, BYTES, MPI_BYTE, &requests[i]);
	MPI_Waitall(N, requests, MPI_STATUSES_IGNORE);
}

/* path: of a file to read from; NULL: receives */
static void faults(const char *path)
{
	MPI_File file;
	long before = 0;

	if (path) {
		MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
		MPI_File_write_at(file, 0, sent, ALL, MPI_BYTE, MPI_STATUS_IGNORE);
	}
	for (int i = 0; i < WINDOWS; i++) {
		if (i == FIRST)
			before = used().ru_minflt;
		if (path)
			reads(file);
		else
			window(BYTES, MPI_BYTE);
	}
	if (path)
		MPI_File_close(&file);
	printf("faults %ld\n", (used().ru_minflt - before) / (ALL / PAGE));
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	MPI_Datatype two;
	long before;

	MPI_Init(&argc, &argv);
	sent = malloc(ALL);
	received = malloc(ALL);
	memset(received, 0, ALL);
	for (long i = 0; i < ALL; i++)
		sent[i] = (char)(i * 31 + i / BYTES);
	MPI_Type_contiguous(2, MPI_BYTE, &two);
	MPI_Type_commit(&two);
	requests[0] = MPI_REQUEST_NULL;
	before = used().ru_maxrss;
	if (!strcmp(how, "faults"))
		faults(argv[2]);
	else if (!strcmp(how, "plain"))
		window(BYTES, MPI_BYTE);
	else if (!strcmp(how, "derived"))
		window(BYTES / 2, two);
	else if (!strcmp(how, "persistent"))
		persistent();
	else if (!strcmp(how, "matched"))
		matched();
	else if (!strcmp(how, "exchange"))
		MPI_Sendrecv(sent, ALL, MPI_BYTE, 0, 0, received, ALL, MPI_BYTE, 0, 0, MPI_COMM_SELF,
			     MPI_STATUS_IGNORE);
	else if (!strcmp(how, "collective"))
		MPI_Ialltoall(sent, ALL, MPI_BYTE, received, ALL, MPI_BYTE, MPI_COMM_SELF, &requests[0]);
	MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
	printf("grown %ld of %d, %s\n", (used().ru_maxrss - before) >> 10, ALL >> 20,
	       memcmp(sent, received, ALL) ? "differs" : "equal");
	MPI_Type_free(&two);
	MPI_Finalize();
	return 0;
}
