/* live_nameless WAY: writes to a file without a name (temporary, memory, sealed, mapped, linked) or opens a terminal
 * (master, slave).  Calls getppid(2) twice, then reads back what is in it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int made(const char *way)
{
	if (!strcmp(way, "temporary"))
		return open(".", O_TMPFILE | O_RDWR, 0600);
	if (!strcmp(way, "linked")) {
		char self[64];
		const int fd = open(".", O_TMPFILE | O_RDWR, 0600);
		snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
		return linkat(AT_FDCWD, self, AT_FDCWD, "named", AT_SYMLINK_FOLLOW) ? -1 : fd;
	}
	if (!strcmp(way, "master"))
		return posix_openpt(O_RDWR | O_NOCTTY);
	if (!strcmp(way, "slave")) {
		const int master = posix_openpt(O_RDWR | O_NOCTTY);
		const int fd = unlockpt(master) ? -1 : ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY);
		close(master);
		return fd;
	}
	return memfd_create(way, strcmp(way, "sealed") ? 0 : MFD_ALLOW_SEALING);
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	char bytes[64] = "";
	const int fd = made(way);
	struct stat st;
	if (fd < 0)
		return 1;
	const int terminal = !strcmp(way, "master") || !strcmp(way, "slave");
	if (!terminal && (write(fd, "what was written", 16) != 16 || ftruncate(fd, 20) || lseek(fd, 5, SEEK_SET) != 5))
		return 2;
	if (!strcmp(way, "sealed") && fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW))
		return 3;
	if (!strcmp(way, "mapped") && mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)
		return 4;
	getppid();
	getppid();
	if (terminal || fstat(fd, &st))
		return 0;
	const long n = read(fd, bytes, sizeof(bytes));
	printf("%ld %s, %ld bytes, mode %o, seals %d, writes %ld\n", n, bytes, (long)st.st_size, st.st_mode,
	       fcntl(fd, F_GET_SEALS), (long)write(fd, "more", 4));
	return 0;
}
