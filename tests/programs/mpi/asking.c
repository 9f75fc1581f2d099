/* asking HOW REQUESTS [TURNS [SIGNAL]]: asks in vain, over and over, or so many times, and then exits with 3, or until
 * a timer's SIGNAL. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 16 };

/* of MPI-4.1, which headers may lack */
#if !defined(MPICH_NUMVERSION) || MPICH_NUMVERSION < 40200000
int MPI_Request_get_status_any(int, const MPI_Request *, int *, int *, MPI_Status *);
int MPI_Request_get_status_some(int, const MPI_Request *, int *, int *, MPI_Status *);
int MPI_Request_get_status_all(int, const MPI_Request *, int *, MPI_Status *);
#endif
#pragma weak MPI_Request_get_status_any
#pragma weak MPI_Request_get_status_some
#pragma weak MPI_Request_get_status_all

static void end_by(int number)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = number};
	struct itimerspec soon = {.it_value.tv_nsec = 100 * 1000 * 1000};
	timer_t timer;
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &soon, NULL))
		_exit(4);
}

int main(int argc, char **argv)
{
	int flag, count, values[MOST], places[MOST], memory[4];
	MPI_Request requests[MOST], again[MOST];
	MPI_Status statuses[MOST];
	MPI_Message message;
	MPI_Group all;
	MPI_Win window;
	if (argc < 3)
		return 2;
	const char *how = argv[1];
	const int n = atoi(argv[2]);
	const long turns = argc > 3 ? atol(argv[3]) : 0;
	MPI_Init(&argc, &argv);
	signal(SIGHUP, SIG_DFL); /* MPICH handles it, and goes on */
	for (int i = 0; i < n; i++) {
		MPI_Irecv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, 5 + i, MPI_COMM_WORLD, &requests[i]);
		MPI_Recv_init(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, 50 + i, MPI_COMM_WORLD, &again[i]);
		MPI_Start(&again[i]);
	}
	if (!strcmp(how, "win_test")) {
		MPI_Comm_group(MPI_COMM_WORLD, &all);
		MPI_Win_create(memory, sizeof(memory), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
		MPI_Win_post(all, 0, window); /* nobody begins */
	}
#if MPI_VERSION >= 4
	if (!strcmp(how, "parrived")) {
		MPI_Precv_init(memory, 4, 1, MPI_INT, 0, 70, MPI_COMM_SELF, MPI_INFO_NULL, &again[0]);
		MPI_Start(&again[0]);
	}
#endif
	if (argc > 4)
		end_by(atoi(argv[4]));
	puts("begins");
	fflush(stdout);
	for (long turn = 0; !turns || turn < turns; turn++) {
		const int i = (int)(turn % n);
		if (!strcmp(how, "test"))
			MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
		else if (!strcmp(how, "test_persistent"))
			MPI_Test(&again[i], &flag, &statuses[0]);
		else if (!strcmp(how, "testany"))
			MPI_Testany(n, requests, &count, &flag, statuses);
		else if (!strcmp(how, "testsome"))
			MPI_Testsome(n, requests, &count, places, statuses);
		else if (!strcmp(how, "testall"))
			MPI_Testall(n, requests, &flag, statuses);
		else if (!strcmp(how, "iprobe"))
			MPI_Iprobe(MPI_ANY_SOURCE, 90 + i, MPI_COMM_WORLD, &flag, statuses);
		else if (!strcmp(how, "improbe"))
			MPI_Improbe(MPI_ANY_SOURCE, 90 + i, MPI_COMM_WORLD, &flag, &message, statuses);
		else if (!strcmp(how, "get_status"))
			MPI_Request_get_status(requests[i], &flag, statuses);
		else if (!strcmp(how, "get_status_any"))
			MPI_Request_get_status_any(n, requests, &count, &flag, statuses);
		else if (!strcmp(how, "get_status_some"))
			MPI_Request_get_status_some(n, requests, &count, places, statuses);
		else if (!strcmp(how, "get_status_all"))
			MPI_Request_get_status_all(n, requests, &flag, statuses);
#if MPI_VERSION >= 4
		else if (!strcmp(how, "parrived"))
			MPI_Parrived(again[0], (int)(turn % 4), &flag);
#endif
		else if (!strcmp(how, "win_test"))
			MPI_Win_test(window, &flag);
		else if (!strcmp(how, "wtime"))
			MPI_Wtime();
		else
			return 2;
	}
	_exit(3); /* what was asked for never came */
}
