/* MPI_Wtime goes on from where it was: never backwards, and not by more than the time that passes. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	double begin, last, now, most = 0;

	MPI_Init(&argc, &argv);
	while (MPI_Wtime() < 0.5 && MPI_Wtime() > -1)
		usleep(1000);
	begin = last = MPI_Wtime();
	for (int i = 0; i < 60; i++) {
		MPI_Barrier(MPI_COMM_WORLD);
		now = MPI_Wtime();
		if (now < last)
			printf("back from %f to %f\n", last, now);
		most = now - last > most ? now - last : most;
		last = now;
		if (argc > 1)
			usleep(50000);
	}
	printf("%s\n", last - begin < 1000 ? "good" : "too much");
	MPI_Finalize();
	return 0;
}
