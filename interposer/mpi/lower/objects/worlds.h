/* Processes of several MPI_COMM_WORLDs in one job, as MPI_Comm_spawn makes them.
 *
 * The log names a process of the rank's own MPI_COMM_WORLD by its rank there, one of another MPI_COMM_WORLD of the job
 * by -2 minus its number in the job, and any other one by -1.
 *
 * A restart has all processes in one real MPI_COMM_WORLD, with their numbers in the job as ranks.  Each world is a part
 * of it, and parents and children get their inter-communicator from MPI_Intercomm_create over it.
 */
#pragma once
#include "lower/objects/real.h"

/* The program's MPI_COMM_WORLD. */
extern MPI_Comm own_world;
#define ALL_WORLDS (RDB_FIRST_DYNAMIC - 1) /* in a restart: id of a copy of the real MPI_COMM_WORLD */

extern bool worlds_again; /* a restart makes objects again that were made before the cut */

/* After the real MPI_Init, before and after the predefined handles are known. */
void worlds_begin(void);
void worlds_begun(void);
/* Both groups learn each other's numbers in the job; collective over both. */
void worlds_met(MPI_Comm inter);
/* Names of a group's n members in the log. */
void worlds_ranks(MPI_Group group, int n, int *ranks);
/* Whether all processes of the local group are known and of this job. */
bool worlds_known(MPI_Comm comm);
/* Whether all its processes are in the launcher's MPI_COMM_WORLD. */
bool worlds_within(const struct vcomm *comm);
/* Id of the communicator with the parents, until it is freed; RDB_NULL_ID: none. */
uint32_t worlds_parent(void);

/* In a restart: arguments of the MPI_Intercomm_create that replaces a call that started or met processes, or MPI_Init
 * in started ones; `recorded`: comm_text() of the recorded call.  NULL: the others are not known. */
const uint64_t *worlds_join(const char *recorded, uint64_t comm, uint64_t out);
/* After this call: in a started process, the first such communicator is that with its parents. */
void worlds_joined(unsigned index, const uint64_t *a, const void *handle);
