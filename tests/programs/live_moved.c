/* live_moved WAY [closed]: moves bytes between files and pipes by calls other than read(2) and write(2).  Calls
 * getppid(2), then prints both files' contents and offsets, and deletes them. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

enum { LAST = -1 };

static int from, to, pipes[2], other[2];

static long way(const char *how)
{
	char text[8];
	loff_t in = 5, out = 12;
	struct iovec written = {"XYZXYZ", 6}, read_in = {text, 5};
	if (!strcmp(how, "copy"))
		return copy_file_range(from, NULL, to, NULL, 10, 0);
	if (!strcmp(how, "copy-at"))
		return copy_file_range(from, &in, to, &out, 10, 0);
	if (!strcmp(how, "copy-within"))
		return copy_file_range(to, &(loff_t){0}, to, &out, 6, 0);
	if (!strcmp(how, "send"))
		return sendfile(to, from, NULL, 10);
	if (!strcmp(how, "send-at"))
		return sendfile(to, from, &in, 10);
	if (!strcmp(how, "splice"))
		return splice(from, NULL, pipes[1], NULL, 10, 0) + splice(pipes[0], NULL, to, NULL, 7, 0);
	if (!strcmp(how, "splice-at"))
		return splice(from, &in, pipes[1], NULL, 10, 0) + splice(pipes[0], NULL, to, &out, 10, 0);
	if (!strcmp(how, "tee"))
		return write(pipes[1], "twice", 5) + tee(pipes[0], other[1], 5, 0);
	if (!strcmp(how, "memory"))
		return vmsplice(pipes[1], &written, 1, 0) + vmsplice(pipes[0], &read_in, 1, 0);
	if (!strcmp(how, "allocate"))
		return fallocate(to, 0, 0, 30);
	if (!strcmp(how, "hole"))
		return fallocate(to, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 2, 2);
	if (!strcmp(how, "write-at"))
		return pwritev2(to, &written, 1, 3, 0);
	if (!strcmp(how, "write-here"))
		return pwritev2(to, &written, 1, LAST, 0);
	if (!strcmp(how, "write-end"))
		return lseek(to, 1, SEEK_SET) + pwritev2(to, &written, 1, LAST, RWF_APPEND);
	if (!strcmp(how, "write-end-at"))
		return lseek(to, 1, SEEK_SET) + pwritev2(to, &written, 1, 2, RWF_APPEND);
	if (!strcmp(how, "read-here"))
		return preadv2(from, &read_in, 1, LAST, 0);
	if (!strcmp(how, "read-at"))
		return preadv2(from, &read_in, 1, 2, 0);
	return -1;
}

static void show(const char *name, int fd)
{
	char bytes[64];
	const long at = lseek(fd, 0, SEEK_CUR), n = pread(fd, bytes, sizeof(bytes), 0);
	printf("%s at %ld, %ld bytes: ", name, at, n);
	for (long i = 0; i < n; i++)
		putchar(bytes[i] ? bytes[i] : '.');
	putchar('\n');
}

static void drain(const char *name, int fd)
{
	char bytes[64];
	fcntl(fd, F_SETFL, O_NONBLOCK);
	const long n = read(fd, bytes, sizeof(bytes));
	printf("%s: %.*s\n", name, (int)(n > 0 ? n : 0), bytes);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	from = open("from", O_RDWR | O_CREAT | O_TRUNC, 0644);
	to = open("to", O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (from < 0 || to < 0 || pipe(pipes) || pipe(other) || write(from, "0123456789abcdefghij", 20) != 20 ||
	    lseek(from, 0, SEEK_SET) || write(to, "begin-", 6) != 6)
		return 1;
	const long moved = way(how);
	if (argc > 2) {
		close(from);
		close(to);
	}
	getppid();
	if (argc > 2) {
		from = open("from", O_RDWR);
		to = open("to", O_RDWR);
	}
	printf("%ld\n", moved);
	show("from", from);
	show("to", to);
	drain("pipe", pipes[0]);
	drain("other", other[0]);
	unlink("from");
	unlink("to");
	return moved < 0;
}
