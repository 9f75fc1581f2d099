/* MPI-IO writes into a file that the program has mapped, shared and privately. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 4 };
static char *views[3];

static void show(const char *what)
{
	printf("%s:", what);
	for (int i = 0; i < 3; i++)
		for (int page = 0; page < PAGES; page++)
			printf(" %d", views[i][page * PAGE + 1]);
	puts("");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static char bytes[PAGE];
	MPI_File file;
	MPI_Request request;
	MPI_Init(&argc, &argv);
	const int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600), ro = open(argv[1], O_RDONLY);
	ftruncate(fd, PAGES * PAGE);
	const int writable = argc > 2; /* else MPI alone writes */
	views[0] = mmap(NULL, PAGES * PAGE, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, writable ? fd : ro, 0);
	views[1] = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, ro, 0);
	views[2] = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_SHARED, ro, 0);
	show("at first");
	MPI_File_open(MPI_COMM_SELF, argv[1], MPI_MODE_RDWR, MPI_INFO_NULL, &file);
	memset(bytes, 11, PAGE);
	MPI_File_write_at(file, 0, bytes, PAGE, MPI_BYTE, MPI_STATUS_IGNORE);
	show("write_at");
	memset(bytes, 12, PAGE);
	MPI_File_seek(file, PAGE, MPI_SEEK_SET);
	MPI_File_write_all(file, bytes, PAGE, MPI_BYTE, MPI_STATUS_IGNORE);
	show("write_all");
	memset(bytes, 13, PAGE);
	MPI_File_iwrite_at(file, 2 * PAGE, bytes, PAGE, MPI_BYTE, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	show("iwrite_at");
	views[1][1] = 99;
	memset(bytes, 14, PAGE);
	MPI_File_write_at(file, 0, bytes, PAGE, MPI_BYTE, MPI_STATUS_IGNORE);
	show("again");
	MPI_File_close(&file);
	show("closed");
	MPI_Finalize();
	return 0;
}
