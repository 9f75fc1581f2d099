/* Tries to write to its own file in each way.  Prints what the kernel says, and whether the file is as it was. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void say(const char *what, int rc)
{
	printf("%s: %s\n", what, rc < 0 ? strerrorname_np(errno) : "done");
	if (rc > 2)
		close(rc);
}

static long size_of(const char *path)
{
	struct stat st;
	return stat(path, &st) ? -1 : (long)st.st_size;
}

static void ways(const char *path)
{
	const long size = size_of(path);
	say("read", open(path, O_RDONLY));
	say("path", open(path, O_PATH | O_RDWR));
	say("write", open(path, O_WRONLY));
	say("both", open(path, O_RDWR | O_CLOEXEC));
	say("create", open(path, O_RDWR | O_CREAT | O_EXCL, 0700));
	say("directory", open(path, O_WRONLY | O_DIRECTORY));
	say("openat", openat(AT_FDCWD, path, O_WRONLY));
	say("negative", truncate(path, -1));
	if (access(path, W_OK)) /* with an older kernel, or its owner only */
		return;
	const int write = open(path, O_WRONLY | O_APPEND);
	say("append", write);
	if (write >= 0) /* Linux 6.11 and 6.12 allow it: what follows would destroy the file */
		return;
	say("truncated", open(path, O_RDONLY | O_TRUNC));
	say("creat", creat(path, 0700));
	say("truncate", truncate(path, 10));
	printf("size %s\n", size_of(path) == size ? "kept" : "differs");
}

int main(int argc, char **argv)
{
	char other[4096];
	ways(argv[0]);
	ways("/proc/self/exe");
	snprintf(other, sizeof(other), "%s.new", argv[0]);
	const int fd = creat(other, 0700);
	if (fd < 0 || write(fd, "new", 3) != 3 || rename(other, argv[0]))
		return 1;
	say("another file of that name", open(argv[0], O_WRONLY | O_TRUNC));
	return argc > 1;
}
