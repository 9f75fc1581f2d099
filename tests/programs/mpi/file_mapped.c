/* MPI-IO writes into a file that the program has mapped, shared and privately, and reads into such memory.
 * argv: a new file; how many bytes are written at a time; if there is one more: the program may write to it, too. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PARTS = 4, WAYS = 14, READS = 3 };
static size_t part;
static char *views[4];
static MPI_File file;
static MPI_Request request;

static void show(const char *what, int way)
{
	printf("%s %d:", what, way);
	for (int i = 0; i < 4; i++) {
		unsigned sum = 0;
		for (size_t at = 0; at < PARTS * part; at++)
			sum = sum * 31 + (unsigned char)views[i][at];
		printf(" %x", sum);
	}
	puts("");
	fflush(stdout);
}

static void write_in(int way, MPI_Offset at, const char *from)
{
	MPI_Status status;
	const int n = (int)part;
	request = MPI_REQUEST_NULL;
	MPI_File_seek(file, at, MPI_SEEK_SET);
	MPI_File_seek_shared(file, at, MPI_SEEK_SET);
	switch (way) {
	case 0: MPI_File_write_at(file, at, from, n, MPI_BYTE, &status); break;
	case 1: MPI_File_write_at_all(file, at, from, n, MPI_BYTE, &status); break;
	case 2: MPI_File_write(file, from, n, MPI_BYTE, &status); break;
	case 3: MPI_File_write_all(file, from, n, MPI_BYTE, &status); break;
	case 4: MPI_File_write_shared(file, from, n, MPI_BYTE, &status); break;
	case 5: MPI_File_write_ordered(file, from, n, MPI_BYTE, &status); break;
	case 6: MPI_File_iwrite_at(file, at, from, n, MPI_BYTE, &request); break;
	case 7: MPI_File_iwrite_at_all(file, at, from, n, MPI_BYTE, &request); break;
	case 8: MPI_File_iwrite(file, from, n, MPI_BYTE, &request); break;
	case 9: MPI_File_iwrite_all(file, from, n, MPI_BYTE, &request); break;
	case 10: MPI_File_iwrite_shared(file, from, n, MPI_BYTE, &request); break;
	case 11:
		MPI_File_write_at_all_begin(file, at, from, n, MPI_BYTE);
		getppid();
		MPI_File_write_at_all_end(file, from, &status);
		break;
	case 12:
		MPI_File_write_all_begin(file, from, n, MPI_BYTE);
		getppid();
		MPI_File_write_all_end(file, from, &status);
		break;
	case 13:
		MPI_File_write_ordered_begin(file, from, n, MPI_BYTE);
		getppid();
		MPI_File_write_ordered_end(file, from, &status);
		break;
	}
	getppid(); /* an event while it may still be written */
	MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void read_in(int way, MPI_Offset at, char *to)
{
	MPI_Status status;
	switch (way) {
	case 0: MPI_File_read_at(file, at, to, (int)part, MPI_BYTE, &status); break;
	case 1:
		MPI_File_iread_at(file, at, to, (int)part, MPI_BYTE, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		break;
	case 2:
		MPI_File_read_at_all_begin(file, at, to, (int)part, MPI_BYTE);
		MPI_File_read_at_all_end(file, to, &status);
		break;
	}
}

int main(int argc, char **argv)
{
	part = (size_t)atoi(argv[2]);
	const size_t len = PARTS * part;
	char *bytes = malloc(part);
	MPI_Init(&argc, &argv);
	const int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600), ro = open(argv[1], O_RDONLY);
	ftruncate(fd, len);
	const int writable = argc > 3; /* else MPI alone writes */
	views[0] = mmap(NULL, len, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, writable ? fd : ro, 0);
	views[1] = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE, ro, 0);
	views[2] = mmap(NULL, len, PROT_READ, MAP_SHARED, ro, 0);
	views[3] = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	show("at first", 0);
	MPI_File_open(MPI_COMM_SELF, argv[1], MPI_MODE_RDWR, MPI_INFO_NULL, &file);
	for (int way = 0; way < WAYS; way++) {
		memset(bytes, 11 + way, part);
		write_in(way, way % PARTS * part, bytes);
		show("write", way);
	}
	views[1][part - 1] = 99;
	for (int way = 0; way < WAYS; way++) { /* from memory that is shared, or is the file's */
		memset(views[3], 31 + way, part);
		write_in(way, (way + 1) % PARTS * part, way % 2 ? views[3] : views[2] + way % PARTS * part);
		show("write from a mapping", way);
	}
	for (int way = 0; way < READS; way++) {
		read_in(way, way * part, views[3] + part);
		read_in(way, way * part, views[1] + 2 * part);
		if (writable)
			read_in(way, way * part, views[0] + 3 * part);
		show("read", way);
	}
	MPI_File_close(&file);
	show("closed", 0);
	MPI_Finalize();
	return 0;
}
