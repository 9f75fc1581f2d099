#include "log/log_segments.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include "log/segment_header.h"

void segments_find(int dirfd, unsigned *lowest, unsigned *highest)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	*lowest = *highest = 0;
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (struct dirent *e; (e = readdir(dir));) {
		unsigned index;
		int len = 0;
		if (sscanf(e->d_name, "log-%u.seg%n", &index, &len) != 1 || !len || e->d_name[len] || !index)
			continue;
		if (!*lowest || index < *lowest)
			*lowest = index;
		if (index > *highest)
			*highest = index;
	}
	closedir(dir);
}

bool segment_begun(int dirfd, unsigned index)
{
	struct log_segment_header h;
	uint64_t words[512];
	char name[32];
	size_t at = sizeof(h);
	ssize_t got;
	snprintf(name, sizeof(name), "log-%06u.seg", index);
	int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true; /* the code that maps it says why */
	got = pread(fd, &h, sizeof(h), 0);
	bool yes = got > 0 && (got != (ssize_t)sizeof(h) || segment_header_intact(&h));
	if (got == (ssize_t)sizeof(h) && !h.magic && !h.version && !h.check)
		yes = false;
	/* a header that is damaged, or lost with more of the file, has records behind it */
	for (; !yes && (got = pread(fd, words, sizeof(words), (off_t)at)) >= 8; at += (size_t)got)
		for (size_t i = 0; i < (size_t)got / 8 && !yes; i++)
			yes = words[i] != 0;
	close(fd);
	return yes;
}
