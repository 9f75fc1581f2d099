/* Processes of several MPI_COMM_WORLDs in one job: those that MPI_Comm_spawn has started, and those that did.
 *
 * What ranks of a job say of each other in the log counts from the first of their own MPI_COMM_WORLD; of another's
 * it says -2 minus the number in the job, and -1 of who is not of the job, or not known.
 *
 * A restart has them all in one real MPI_COMM_WORLD, in which each has its number in the job.  Each world is a part of
 * it there, and parents and children get their inter-communicator by MPI_Intercomm_create over it.
 */
#ifndef RDB_MPI_WORLDS_H
#define RDB_MPI_WORLDS_H
#include "real.h"

/* The program's MPI_COMM_WORLD. */
extern MPI_Comm own_world;
#define ALL_WORLDS (RDB_FIRST_DYNAMIC - 1) /* of a restart: id of a copy of the real one */

extern bool worlds_again; /* what is made now was made before the cut */

/* After the real MPI_Init, before and after the predefined handles are known. */
void worlds_begin(void);
void worlds_begun(void);
/* Parents and children learn each other's numbers: a collective of both. */
void worlds_met(MPI_Comm inter);
/* As the log has them. */
void worlds_ranks(MPI_Group group, int n, int *ranks);
/* Is everybody in the local group of the job? */
bool worlds_known(MPI_Comm comm);
/* Are all its ranks of the launcher's MPI_COMM_WORLD? */
bool worlds_within(const struct vcomm *comm);
/* Of a process that was started by others: that communicator, until it is freed. */
uint32_t worlds_parent(void);

/* A restart: what comm_text() said of the call that started processes or met them, or of MPI_Init in those; that call as
 * one that can be made again, or NULL. */
const uint64_t *worlds_join(const char *recorded, uint64_t comm, uint64_t out);
/* Such a call was made: in one of those processes the first is that of its parents. */
void worlds_joined(unsigned index, const uint64_t *a, const void *handle);
#endif
