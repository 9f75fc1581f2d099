/* Jobs of four ranks that end in a deadlock of each kind; argv[1] says which.  Who has said "waits" goes into the call in
 * which it stays. */
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BIG = 1 << 20 };

static char big[BIG], other[BIG];
static int rank, value;
static const char *kind;

static void waits(void)
{
	printf("%d waits\n", rank);
	fflush(stdout);
}

/* 2 and 3 wait for any source, and what was sent to them went to a receive that was posted before. */
static void taken(void)
{
	MPI_Request request;

	if (rank < 2) {
		MPI_Isend(big, BIG, MPI_CHAR, 1 - rank, 4, MPI_COMM_WORLD, &request);
		MPI_Send(&value, 1, MPI_INT, rank + 2, 5, MPI_COMM_WORLD);
		waits();
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	} else {
		MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &request);
		waits();
		MPI_Recv(other, BIG, MPI_CHAR, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
}

/* 0 polls for what nobody sends, the others wait for it. */
static void polls(void)
{
	int flag = 0;

	waits();
	while (rank == 0 && !flag)
		MPI_Iprobe(1, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* 0 looks at a receive of what nobody sends, the others wait for it. */
static void looks(void)
{
	int in, flag = 0;
	MPI_Request request;

	MPI_Irecv(&in, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &request);
	waits();
	while (rank == 0 && !flag)
		MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* 0 does not come to a collective call on a file. */
static void file(const char *name)
{
	MPI_File fh;

	MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh);
	MPI_File_set_size(fh, 4096);
	waits();
	if (rank == 0)
		MPI_Recv(&value, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_File_set_size(fh, 8192);
}

/* 0 computes, and does not come to a call that makes a window, or a file; or it comes to nothing any more. */
static void absent(void)
{
	const int for_ever = !strcmp(kind, "turns");
	volatile unsigned turns = 0;

	void *memory;
	MPI_Win window;
	MPI_File fh;

	waits();
	while (rank == 0)
		for_ever ? (void)turns++ : (void)pause();
	if (for_ever)
		MPI_Barrier(MPI_COMM_WORLD);
	else if (!strcmp(kind, "creates"))
		MPI_Win_create(big, BIG, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
	else if (!strcmp(kind, "shares"))
		MPI_Win_allocate_shared(BIG, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
	else if (!strcmp(kind, "attaches"))
		MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window);
	else
		MPI_File_open(MPI_COMM_WORLD, "none", MPI_MODE_RDONLY, MPI_INFO_NULL, &fh);
}

/* 0 waits by looking for an epoch that 1 never completes, the others wait for it. */
static void looks_at_window(void)
{
	int flag = 0;
	MPI_Win window;
	MPI_Group world, group;
	const int one = 1;

	MPI_Win_create(big, BIG, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 1, &one, &group);
	if (rank == 0)
		MPI_Win_post(group, 0, window);
	waits();
	while (rank == 0 && !flag)
		MPI_Win_test(window, &flag);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* The groups of 0, 2 and of 1, 3; 3 does not come to the barrier of both. */
static void inter(void)
{
	MPI_Comm half, both;

	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 ? 0 : 1, 3, &both);
	waits();
	if (rank == 3)
		MPI_Recv(&value, 1, MPI_INT, 1, 9, both, MPI_STATUS_IGNORE);
	MPI_Barrier(both);
}

/* 0 has exposed its window to 1, which never completes. */
static void epochs(void)
{
	MPI_Group world, peer;
	MPI_Win win;
	int there = 1 - rank;

	MPI_Win_create(&value, sizeof(value), sizeof(value), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	if (rank < 2)
		MPI_Group_incl(world, 1, &there, &peer);
	if (rank == 0)
		MPI_Win_post(peer, 0, win);
	if (rank == 1)
		MPI_Win_start(peer, 0, win);
	waits();
	if (rank == 0)
		MPI_Win_wait(win);
	if (rank == 1)
		MPI_Recv(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Win_fence(0, win);
}

/* A collective that 1 has begun without waiting, and 0 never does. */
static void later(void)
{
	MPI_Request requests[2];

	if (rank)
		MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
	if (rank)
		MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 9, MPI_COMM_WORLD, &requests[1]);
	waits();
	if (rank == 0)
		MPI_Probe(3, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	else
		MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

/* 0 does not free the window. */
static void freed(void)
{
	MPI_Win win;

	MPI_Win_create(&value, sizeof(value), sizeof(value), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	waits();
	if (rank == 0)
		MPI_Recv(&value, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Win_free(&win);
}

/* The leader of the other group does not come; nor do 2 and 3 to what they make with it. */
static void halves(void)
{
	MPI_Comm half, both;

	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	waits();
	if (rank == 1)
		MPI_Recv(&value, 1, MPI_INT, 3, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 ? 0 : 1, 3, &both);
}

/* A communicator of 1, 2 and 3, to which 3 does not come; 0 waits for it. */
static void group(void)
{
	int ranks[] = {1, 2, 3};
	MPI_Group world, some;
	MPI_Comm made;

	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 3, ranks, &some);
	waits();
	if (rank == 0 || rank == 3)
		MPI_Recv(&value, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	else
		MPI_Comm_create_group(MPI_COMM_WORLD, some, 5, &made);
}

/* 1 accesses what 0 does not expose; all wait for 1. */
static void started(void)
{
	MPI_Group world, peer;
	MPI_Win win;
	int there = 0;

	MPI_Win_create(&value, sizeof(value), sizeof(value), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 1, &there, &peer);
	waits();
	if (rank == 1) {
		MPI_Win_start(peer, 0, win);
		MPI_Put(&there, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
		MPI_Win_complete(win);
	}
	MPI_Recv(&value, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void put_alone(int target, MPI_Win win)
{
	const int one = 1;

	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
	MPI_Put(&one, 1, MPI_INT, target, 0, 1, MPI_INT, win);
	MPI_Win_unlock(target, win);
}

/* 0 has the lock that 1 wants, and waits for it. */
static void locked(void)
{
	MPI_Win win;
	int one = 1;

	MPI_Win_create(&value, sizeof(value), sizeof(value), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	if (rank == 0) {
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, win);
		MPI_Put(&one, 1, MPI_INT, 2, 0, 1, MPI_INT, win);
		MPI_Win_flush(2, win);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	waits();
	if (rank == 1)
		put_alone(2, win);
	MPI_Recv(&value, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* 0 does not close the file. */
static void closes(const char *name)
{
	MPI_File fh;

	MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh);
	waits();
	if (rank == 0)
		MPI_Recv(&value, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_File_close(&fh);
}

/* 0 does not free the communicator; whoever has, comes to MPI_Finalize. */
static void comm(void)
{
	MPI_Comm copy;

	MPI_Comm_dup(MPI_COMM_WORLD, &copy);
	waits();
	if (rank == 0)
		MPI_Recv(&value, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Comm_free(&copy);
}

/* 3 does not come to where both groups become one. */
static void merged(void)
{
	MPI_Comm half, both, all;

	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 ? 0 : 1, 3, &both);
	waits();
	if (rank == 3)
		MPI_Recv(&value, 1, MPI_INT, 1, 9, both, MPI_STATUS_IGNORE);
	MPI_Intercomm_merge(both, rank % 2, &all);
}

/* 0 has the lock that 1 wants to read and write under with requests. */
static void requested(void)
{
	MPI_Request requests[2];
	MPI_Win win;
	int one = 1, two;

	MPI_Win_create(&value, sizeof(value), sizeof(value), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	if (rank == 0) {
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, win);
		MPI_Rget(&two, 1, MPI_INT, 2, 0, 1, MPI_INT, win, &requests[0]);
		MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	waits();
	if (rank == 1) {
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, win);
		MPI_Rput(&one, 1, MPI_INT, 2, 0, 1, MPI_INT, win, &requests[0]);
		MPI_Rget(&two, 1, MPI_INT, 2, 0, 1, MPI_INT, win, &requests[1]);
		MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
		MPI_Win_unlock(2, win);
	}
	MPI_Recv(&value, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* A collective write that 0 never begins. */
static void writes(const char *name)
{
	MPI_Request request;
	MPI_File fh;

	MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh);
	waits();
	if (rank == 0)
		MPI_Recv(&value, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_File_iwrite_at_all(fh, rank * 4, &value, 1, MPI_INT, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_File_close(&fh);
}

/* Each sends to the next one, with requests that could be started again, and none receives. */
static void persistent(void)
{
	MPI_Request requests[2];

	MPI_Ssend_init(&value, 1, MPI_INT, (rank + 1) % 4, 5, MPI_COMM_WORLD, &requests[0]);
	MPI_Send_init(big, BIG, MPI_CHAR, (rank + 1) % 4, 6, MPI_COMM_WORLD, &requests[1]);
	MPI_Startall(2, requests);
	waits();
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

/* 0 and 1 wait for one who connects: somebody else may. */
static void accepts(void)
{
	char port[MPI_MAX_PORT_NAME];
	MPI_Comm half, other;

	MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half);
	if (rank == 0)
		MPI_Open_port(MPI_INFO_NULL, port);
	waits();
	if (rank < 2)
		MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &other);
	MPI_Recv(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* 1 does not come to MPI_Comm_spawn. */
static void spawns(void)
{
	MPI_Comm children;

	waits();
	if (rank == 1)
		MPI_Recv(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Comm_spawn("/bin/true", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
}

/* 0 and 2 share the lock that 1 wants for itself. */
static void shared(void)
{
	MPI_Win win;

	MPI_Win_create(&value, sizeof(value), sizeof(value), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	if (rank == 0 || rank == 2) {
		MPI_Win_lock(MPI_LOCK_SHARED, 3, 0, win);
		MPI_Get(&value, 1, MPI_INT, 3, 0, 1, MPI_INT, win);
		MPI_Win_flush(3, win);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	waits();
	if (rank == 1)
		put_alone(3, win);
	MPI_Recv(&value, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The root does not come. */
static void root(void)
{
	waits();
	if (rank == 2)
		MPI_Recv(&value, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Bcast(&value, 1, MPI_INT, 2, MPI_COMM_WORLD);
}

/* 2 does not come, and waits for 0, which has all that it needs of 1 and 3 and waits for 2. */
static void neighbours(void)
{
	int ranks = 4, round = 1, all[2];
	MPI_Comm ring;

	MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &round, 0, &ring);
	waits();
	if (rank == 2)
		MPI_Recv(&value, 1, MPI_INT, 0, 9, ring, MPI_STATUS_IGNORE);
	MPI_Neighbor_allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, ring);
	MPI_Recv(&value, 1, MPI_INT, 2, 9, ring, MPI_STATUS_IGNORE);
}

/* A nonblocking one among neighbours that 0 does not begin. */
static void circle(void)
{
	int sources[] = {(rank + 3) % 4}, to[] = {(rank + 1) % 4};
	MPI_Request request;
	MPI_Comm circle;

	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources, MPI_UNWEIGHTED, 1, to, MPI_UNWEIGHTED, MPI_INFO_NULL,
				       0, &circle);
	waits();
	if (rank == 0)
		MPI_Recv(&value, 1, MPI_INT, 1, 9, circle, MPI_STATUS_IGNORE);
	MPI_Ineighbor_allgather(&rank, 1, MPI_INT, other, 1, MPI_INT, circle, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Recv(&value, 1, MPI_INT, (rank + 3) % 4, 9, circle, MPI_STATUS_IGNORE);
}

static int nothing(void *state)
{
	(void)state;
	return MPI_SUCCESS;
}

static int no_status(void *state, MPI_Status *status)
{
	MPI_Status_set_elements(status, MPI_INT, 0);
	MPI_Status_set_cancelled(status, 0);
	return nothing(state);
}

static int not_cancelled(void *state, int complete)
{
	(void)complete;
	return nothing(state);
}

/* 0 waits for a request of its own that it would have to complete. */
static void generalized(void)
{
	MPI_Request request;

	MPI_Grequest_start(no_status, nothing, not_cancelled, NULL, &request);
	waits();
	if (rank == 0)
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Recv(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static sem_t about_to;

static void *sleeps(void *said)
{
	sem_post(&about_to);
	while (said)
		sleep(1000);
	return NULL;
}

/* 0 has another thread, which might send what 1 waits for. */
static void threads(void)
{
	pthread_t thread;

	sem_init(&about_to, 0, 0);
	if (rank == 0) {
		pthread_create(&thread, NULL, sleeps, &value);
		sem_wait(&about_to);
		usleep(100000); /* it sleeps longer than this thread, which is the last to do something */
	}
	waits();
	MPI_Recv(&value, 1, MPI_INT, (rank + 1) % 4, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t begun = PTHREAD_COND_INITIALIZER, never = PTHREAD_COND_INITIALIZER;
static int begins;

static void *waits_for_main(void *said)
{
	pthread_mutex_lock(&mutex);
	begins = 1;
	pthread_cond_signal(&begun);
	while (said)
		pthread_cond_wait(&never, &mutex);
	return NULL;
}

/* 0 has another thread, which waits for its first one: for ever. */
static void sleeping(void)
{
	pthread_t thread;

	if (rank == 0) {
		pthread_mutex_lock(&mutex);
		pthread_create(&thread, NULL, waits_for_main, &value);
		while (!begins)
			pthread_cond_wait(&begun, &mutex); /* it has the mutex until it waits */
		pthread_mutex_unlock(&mutex);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	waits();
	MPI_Recv(&value, 1, MPI_INT, (rank + 1) % 4, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* 0 waits for what only a signal or another process could bring. */
static void asleep(void)
{
	sem_init(&about_to, 0, 0);
	waits();
	if (rank == 0)
		sem_wait(&about_to);
	MPI_Recv(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static MPI_Comm of_threads;

static void *receives(void *from)
{
	sem_post(&about_to);
	MPI_Recv(&value, 1, MPI_INT, *(int *)from, 9, of_threads, MPI_STATUS_IGNORE);
	return NULL;
}

/* 0 has another thread, which waits for 1 in MPI. */
static void with_a_thread(void)
{
	static int from = 1;
	pthread_t thread;

	MPI_Comm_dup(MPI_COMM_WORLD, &of_threads);
	sem_init(&about_to, 0, 0);
	if (rank == 0) {
		pthread_create(&thread, NULL, receives, &from);
		sem_wait(&about_to);
		usleep(100000); /* until it is there */
	}
	waits();
	if (rank == 0 && !strcmp(kind, "joins"))
		pthread_join(thread, NULL);
	if (rank == 1 && !strcmp(kind, "either"))
		sleep(1000);
	MPI_Recv(&value, 1, MPI_INT, (rank + 3) % 4, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* 0 connects to what 1 has opened, and 1 does not accept: somebody else might. */
static void connects(void)
{
	char port[MPI_MAX_PORT_NAME] = "";
	MPI_Comm other;

	if (rank == 1)
		MPI_Open_port(MPI_INFO_NULL, port);
	MPI_Bcast(port, sizeof(port), MPI_CHAR, 1, MPI_COMM_WORLD);
	waits();
	if (rank == 0)
		MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other);
	MPI_Recv(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

#if MPI_VERSION >= 4
enum { PARTS = 4 };

/* Each has made ready all parts but one of what the next one waits for. */
static void parts(void)
{
	int out[PARTS] = {0}, in[PARTS];
	MPI_Request requests[2];

	MPI_Psend_init(out, PARTS, 1, MPI_INT, (rank + 1) % 4, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
	MPI_Precv_init(in, PARTS, 1, MPI_INT, (rank + 3) % 4, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
	MPI_Startall(2, requests);
	MPI_Pready_range(0, PARTS - 2, requests[0]);
	waits();
	MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
	MPI_Pready(PARTS - 1, requests[0]);
	MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
}

/* 0 polls for a part, the others wait for it. */
static void arrives(void)
{
	int in[PARTS], flag = 0;
	MPI_Request request;

	MPI_Precv_init(in, PARTS, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
	MPI_Start(&request);
	waits();
	while (rank == 0 && !flag)
		MPI_Parrived(request, 2, &flag);
	MPI_Barrier(MPI_COMM_WORLD);
}
#endif

static const struct {
	const char *name;
	void (*call)(void);
} kinds[] = {
	{"taken", taken},
	{"polls", polls},
	{"looks", looks},
	{"window", looks_at_window},
	{"creates", absent},
	{"shares", absent},
	{"attaches", absent},
	{"opens", absent},
	{"turns", absent},
	{"inter", inter},
	{"epochs", epochs},
	{"later", later},
	{"freed", freed},
	{"halves", halves},
	{"group", group},
	{"started", started},
	{"locked", locked},
	{"comm", comm},
	{"merged", merged},
	{"requested", requested},
	{"persistent", persistent},
	{"accepts", accepts},
	{"spawns", spawns},
	{"shared", shared},
	{"root", root},
	{"neighbours", neighbours},
	{"circle", circle},
	{"generalized", generalized},
	{"threads", threads},
	{"sleeping", sleeping},
	{"asleep", asleep},
	{"joins", with_a_thread},
	{"both", with_a_thread},
	{"either", with_a_thread},
	{"connects", connects},
#if MPI_VERSION >= 4
	{"parts", parts},
	{"arrives", arrives},
#endif
};

int main(int argc, char **argv)
{
	int provided;

	kind = argv[1];
	const int several = !strcmp(kind, "joins") || !strcmp(kind, "both") || !strcmp(kind, "either");
	MPI_Init_thread(&argc, &argv, several ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kind, kinds[i].name))
			kinds[i].call();
	if (!strcmp(kind, "file"))
		file(argv[2]);
	if (!strcmp(kind, "closes"))
		closes(argv[2]);
	if (!strcmp(kind, "writes"))
		writes(argv[2]);
	MPI_Finalize();
	return 0;
}
