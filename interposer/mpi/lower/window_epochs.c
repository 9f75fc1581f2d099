/* Which ranks an epoch of MPI_Win_post or MPI_Win_start is about: for readers
 * of the log, who see only the group's id. */
#include "windows.h"
#include "worlds.h"
#include <stdio.h>

void window_epoch(const char *what, const uint64_t *a)
{
	MPI_Group group = REAL(MPI_Group, group_of(a[0])->real);
	char text[512];
	int *ranks, count, len = snprintf(text, sizeof(text), "win=%u %s ranks=", (uint32_t)a[2], what);

	if (PMPI_Group_size(group, &count) != MPI_SUCCESS)
		return;
	ranks = malloc((count + 1) * sizeof(int));
	if (!ranks)
		host->fatal("out of memory in the MPI boundary");
	worlds_ranks(group, count, ranks);
	for (int i = 0; i < count; i++) {
		if (len >= (int)sizeof(text) - 16) {
			len += snprintf(text + len, sizeof(text) - len, "...");
			break;
		}
		len += snprintf(text + len, sizeof(text) - len, "%s%d", i ? "," : "", ranks[i]);
	}
	free(ranks);
	host->note(RDB_NOTE_TEXT, text, len);
}
