#include "restart/copies/later_plan.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "restart/base/cut.h"
#include "answer/other_names.h"
#include "base/descriptors.h"

const char *later_lines(void)
{
	static const char *lines;
	char path[LONGEST];
	struct stat st;
	if (lines)
		return lines;
	lines = "";
	snprintf(path, sizeof(path), "%s", lower.opt.branch);
	char *rank = strstr(path, "/rank-");
	for (char *next = rank; next; next = strstr(next + 1, "/rank-"))
		rank = next; /* a child's directory is below its parent's */
	if (!rank)
		live_refuse("%s is not the directory of a rank", path);
	snprintf(rank, sizeof(path) - (size_t)(rank - path), "/later-files");
	int fd = descriptor_open(AT_FDCWD, path, O_RDONLY, 0);
	if (fd < 0)
		return lines;
	const void *p = MAP_FAILED;
	if (fstat(fd, &st) == 0 && st.st_size && st.st_size % 4096) /* a zero follows the last line */
		p = mmap(NULL, (size_t)st.st_size + 1, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		live_refuse("%s cannot be read", path);
	return lines = p;
}

bool later_line(const char **line, char *place, char *full)
{
	const char *tab = strchr(*line, '\t'), *end = strchr(*line, '\n');
	if (!tab || !end)
		return false;
	snprintf(place, LONGEST, "%.*s", (int)(tab - *line), *line);
	snprintf(full, LONGEST, "%.*s", (int)(end - tab - 1), tab + 1);
	*line = end + 1;
	return true;
}

/* "=/...": the original content is the beginning of this file.  "=": it is nowhere any more. */
void later_before(const char *path, char *out)
{
	char place[LONGEST], full[LONGEST];
	snprintf(out, LONGEST, "%s", path);
	for (const char *line = later_lines(); later_line(&line, place, full);)
		if (*place == '=' && !strcmp(full, path))
			snprintf(out, LONGEST, "%s", place + 1);
}
