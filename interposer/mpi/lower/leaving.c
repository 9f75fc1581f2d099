/* All ranks meet before the real MPI_Finalize.  What others had sent before it is there then, for early.c.
 *
 * MPICH over UCX needs that for another reason, too.  Its MPI_Finalize closes each endpoint, which takes an answer of the peer, and then waits
 * for the launcher without looking at the network: who is late, even by a little, waits for ever for the answer of a
 * peer that no longer looks (MPICH 4.0, UCX 1.13 over TCP).  When all have met nothing is under way any more, and
 * endpoints are then dropped with their worker. */
#include <dlfcn.h>
#include <stdbool.h>
#include "real.h"

#ifdef MPICH
typedef void *disconnect(void *endpoint);
static bool all_are_here;

static disconnect *next(void)
{
	union {
		void *address;
		disconnect *call;
	} found = {.address = dlsym(RTLD_NEXT, "ucp_disconnect_nb")};

	return found.call;
}

/* Found before libucp's by libmpich, which was loaded for this library.  NULL is "done". */
__attribute__((visibility("default"))) void *ucp_disconnect_nb(void *endpoint);
void *ucp_disconnect_nb(void *endpoint)
{
	disconnect *real = next();

	return all_are_here || !real ? NULL : real(endpoint);
}
#endif

void before_the_end(void)
{
#ifdef MPICH
	if (next())
		all_are_here = BLOCKING(PMPI_Barrier(MPI_COMM_WORLD)) == MPI_SUCCESS;
#elif defined OPEN_MPI
	BLOCKING(PMPI_Barrier(MPI_COMM_WORLD)); /* its MPI_Finalize does the same */
#endif
}
