/* proc_pid_fd(5): a parent lists its child's descriptors and opens one; those of others need permission. */
#include "../observe.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>

int main(void)
{
	char path[64], byte, text[16] = "";
	int out[2], in[2], status, seen = 0;
	struct dirent *entry;

	MUST(!pipe(out) && !pipe(in));
	pid_t child = fork();
	if (!child) {
		MUST(dup2(open("file", O_CREAT | O_RDWR, 0600), 60) == 60 && write(60, "child", 5) == 5);
		MUST(write(out[1], "x", 1) == 1 && read(in[0], &byte, 1) == 1);
		_exit(0);
	}
	MUST(read(out[0], &byte, 1) == 1);
	snprintf(path, sizeof path, "/proc/%d/fd", child);
	DIR *list = opendir(path);
	MUST(list);
	while ((entry = readdir(list)))
		seen += !strcmp(entry->d_name, "60") || !strcmp(entry->d_name, "0");
	SAY(seen);
	int fd = openat(dirfd(list), "60", O_RDONLY);
	MUST(fd >= 0);
	SAY(read(fd, text, sizeof text));
	puts(text);
	SAY(faccessat(dirfd(list), "61", F_OK, 0));
	MUST(write(in[1], "y", 1) == 1 && waitpid(child, &status, 0) == child);
	SAY(openat(dirfd(list), "60", O_RDONLY));
	rewinddir(list);
	SAY(readdir(list) == NULL);
	return 0;
}
