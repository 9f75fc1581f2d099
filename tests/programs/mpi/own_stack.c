/* Waits in a system call that comes to rdb as a signal (an instruction of its own), after the MPI has been loaded. */
#include <mpi.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long result = SYS_read;
	int ends[2];
	char byte;

	MPI_Init(&argc, &argv);
	if (pipe(ends))
		return 1;
	printf("%d\n", getpid());
	fflush(stdout);
	__asm__ volatile("syscall" : "+a"(result) : "D"((long)ends[0]), "S"(&byte), "d"(1l) : "rcx", "r11", "memory");
	return 2;
}
