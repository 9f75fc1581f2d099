/* Which ranks a group has, and which an epoch of MPI_Win_post or MPI_Win_start is about: for readers of the log, who see
 * only the group's id. */
#include "windows.h"
#include "worlds.h"
#include <stdio.h>

static void note_ranks(const char *of, MPI_Group group)
{
	char text[512];
	int *ranks, count, len = snprintf(text, sizeof(text), "%s ranks=", of);

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

void window_epoch(const char *what, const uint64_t *a)
{
	char of[64];

	snprintf(of, sizeof(of), "win=%u %s", (uint32_t)a[2], what);
	note_ranks(of, REAL(MPI_Group, group_of(a[0])->real));
}

struct vobject *group_new(MPI_Group real)
{
	struct vobject *group = object_new(RDB_GROUP, real);
	char of[32];

	snprintf(of, sizeof(of), "group=%u", group->id);
	note_ranks(of, real);
	return group;
}
