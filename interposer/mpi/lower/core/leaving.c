/* A barrier of all ranks before the real MPI_Finalize.  After it, messages that others have sent before are here, for
 * early.c.
 *
 * MPICH over UCX needs it for another reason, too.  Its MPI_Finalize closes each endpoint, which needs an answer of the
 * peer, and then waits for the launcher without polling the network.  A rank that is late waits for ever for the answer
 * of a peer that no longer polls (MPICH 4.0, UCX 1.13 over TCP).  After the barrier nothing is under way any more, so
 * we skip the closing; the endpoints go with their worker. */
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include "lower/objects/real.h"

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

/* libmpich, which was loaded for this library, finds this before libucp's.  NULL means "done". */
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

/* MPICH 4.2 and later tells the launcher in an exit handler that a rank has finished, but the lower half ends without
 * exit().  Hydra kills the job when a rank ends without that.  Calling the library's termination functions, as
 * dlclose() does, runs its exit handlers. */
void after_the_end(void)
{
#ifdef MPICH
	Dl_info found;
	struct link_map *map;
	void (**end)(void) = NULL;
	size_t count = 0;

	if (!dladdr1((void *)PMPI_Finalize, &found, (void **)&map, RTLD_DL_LINKMAP))
		return;
	for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_FINI_ARRAY)
			end = (void (**)(void))(map->l_addr + entry->d_un.d_ptr);
		else if (entry->d_tag == DT_FINI_ARRAYSZ)
			count = entry->d_un.d_val / sizeof(*end);
	}
	while (end && count > 0)
		end[--count]();
#endif
}
