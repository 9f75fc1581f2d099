/* memfd_create(2): seals forbid to shrink, grow, write and seal; a descriptor passes the memory to another process. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

int main(void)
{
	int fd = memfd_create("observe", MFD_ALLOW_SEALING | MFD_CLOEXEC), plain = memfd_create("plain", 0), status;
	char *map;

	MUST(fd >= 0 && plain >= 0 && !ftruncate(fd, 8192));
	map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(map != MAP_FAILED);
	SAY(fcntl(plain, F_GET_SEALS));
	SAY(fcntl(fd, F_GET_SEALS));
	SAY(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW));
	SAY(ftruncate(fd, 4096));
	SAY(ftruncate(fd, 16384));
	SAY(pwrite(fd, "abc", 3, 8190));
	SAY(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE));
	pid_t child = fork();
	if (!child) {
		strcpy(map, "from the child");
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child);
	printf("'%s'\n", map);
	SAY(munmap(map, 8192));
	SAY(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE));
	SAY(pwrite(fd, "x", 1, 0));
	SAY(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
	map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	MUST(map != MAP_FAILED);
	map[0] = 'F';
	printf("'%s'\n", map);
	SAY(fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL));
	SAY(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW));
	SAY(fcntl(fd, F_GET_SEALS));
	SAY(memfd_create("x", 0x8000));
	return 0;
}
