/* Notes the ranks of groups, and of epochs of MPI_Win_post and MPI_Win_start, for readers of the log: the arguments
 * have only the group's id. */
#include "lower/windows/windows.h"
#include "lower/objects/worlds.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER = 12, MOST = 80000 }; /* bytes of a rank in the text; most ranks in it, since a note is below 1 MiB */

static void note_ranks(const char *of, MPI_Group group)
{
	int *ranks, count;

	if (PMPI_Group_size(group, &count) != MPI_SUCCESS)
		return;
	const size_t size = strlen(of) + sizeof(" ranks=...") + (size_t)(count < MOST ? count : MOST) * NUMBER;
	char *text = needed(malloc(size));
	ranks = needed(malloc((count + 1) * sizeof(int)));
	worlds_ranks(group, count, ranks);
	size_t len = snprintf(text, size, "%s ranks=", of);
	for (int i = 0; i < count && i < MOST; i++)
		len += snprintf(text + len, size - len, "%s%d", i ? "," : "", ranks[i]);
	if (count > MOST)
		len += snprintf(text + len, size - len, "...");
	host->note(RDB_NOTE_TEXT, text, len);
	free(ranks);
	free(text);
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
