/* MPI_Intercomm_create: the groups may not know each other's numbers in the job, so they exchange them.  With processes
 * of other jobs nothing is exchanged. */
#include "lower/objects/worlds.h"

static bool all_known(const struct vcomm *comm)
{
	for (int i = 0; comm->o.real && i < comm->size; i++) {
		if (comm_world_rank(comm, i) == -1)
			return false;
	}
	return comm->o.real;
}

/* The leaders tell each other whether all of their group are known, and then tell their groups.  Either both leaders
 * know each other or neither does. */
static bool can_meet(const struct vcomm *local, int leader, const struct vcomm *peers, int remote, int tag)
{
	int own = all_known(local), theirs = 0;

	if (local->rank == leader && comm_world_rank(peers, remote) != -1) {
		MPI_Comm real = REAL(MPI_Comm, peers->o.real);

		if (BLOCKING(PMPI_Sendrecv(&own, 1, MPI_INT, remote, tag, &theirs, 1, MPI_INT, remote, tag, real,
					   MPI_STATUS_IGNORE)) != MPI_SUCCESS)
			theirs = 0;
	}
	/* processes of other jobs do not take part */
	return own && BLOCKING(PMPI_Bcast(&theirs, 1, MPI_INT, leader, REAL(MPI_Comm, local->o.real))) == MPI_SUCCESS &&
	       theirs;
}

/* local_comm, local_leader, peer_comm, remote_leader, tag, newintercomm */
int64_t real_Intercomm_create(const uint64_t *a)
{
	struct vcomm *local = object_hold(comm_of(a[0])), *peers = object_hold(comm_of(a[2]));
	int leader = (int)a[1], remote = (int)a[3], tag = (int)a[4], rc;
	/* only logs need the numbers, and checkpoints do not count such messages */
	bool meets = host->recording() && !local->inter && can_meet(local, leader, peers, remote, tag);
	MPI_Comm made = MPI_COMM_NULL;

	rc = BLOCKING(PMPI_Intercomm_create(REAL(MPI_Comm, local->o.real), leader, REAL(MPI_Comm, peers->o.real),
					    remote, tag, a[5] ? &made : NULL));
	if (rc == MPI_SUCCESS) {
		if (meets)
			worlds_met(made);
		put_handle((void **)a[5], RDB_COMM, comm_new(made, "MPI_Intercomm_create")->o.id);
	}
	object_release(&local->o);
	object_release(&peers->o);
	return rc;
}
