/* Which ranks an epoch of MPI_Win_post or MPI_Win_start is about: for readers
 * of the log, who see only the group's id. */
#include "windows.h"
#include "real.h"
#include <stdio.h>

void window_epoch(const char *what, const uint64_t *a)
{
	MPI_Group group = REAL(MPI_Group, group_of(a[0])->real), world;
	char text[512];
	int count, len = snprintf(text, sizeof(text), "win=%u %s ranks=", (uint32_t)a[2], what);

	if (PMPI_Group_size(group, &count) != MPI_SUCCESS || PMPI_Comm_group(MPI_COMM_WORLD, &world) != MPI_SUCCESS)
		return;
	for (int i = 0; i < count; i++) {
		int rank = MPI_UNDEFINED;

		if (len >= (int)sizeof(text) - 16) {
			len += snprintf(text + len, sizeof(text) - len, "...");
			break;
		}
		PMPI_Group_translate_ranks(group, 1, &i, world, &rank);
		len += snprintf(text + len, sizeof(text) - len, "%s%d", i ? "," : "",
				rank == MPI_UNDEFINED ? -1 : rank);
	}
	PMPI_Group_free(&world);
	host->note(RDB_NOTE_TEXT, text, len);
}
