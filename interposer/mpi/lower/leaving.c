/* All ranks meet before the real MPI_Finalize.  What others had sent before it is there then, for early.c.
 *
 * MPICH over UCX needs that for another reason, too.  Its MPI_Finalize closes each endpoint, which takes an answer of the peer, and then waits
 * for the launcher without looking at the network: who is late, even by a little, waits for ever for the answer of a
 * peer that no longer looks (MPICH 4.0, UCX 1.13 over TCP).  When all have met nothing is under way any more, and
 * endpoints are then dropped with their worker. */
#include <dlfcn.h>
#include <link.h>
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

/* MPICH 4.2 and later tells the launcher that a rank has finished in an exit handler, and the lower half ends without exit().  Hydra
 * kills the job when a rank ends that has not said so.  The library's termination functions run its exit handlers, as in dlclose(). */
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
