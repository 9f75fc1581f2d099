/* fcntl(2): F_ADD_SEALS: each seal forbids what it says; F_SEAL_WRITE needs that nobody maps it for writing. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/mman.h>

/* A private mapping hinders no seal, whether before or after. */
static void privately(int before)
{
	int fd = memfd_create("private", MFD_ALLOW_SEALING);
	char *memory = MAP_FAILED;

	MUST(fd >= 0 && write(fd, "first", 6) == 6);
	if (before) {
		MUST((memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0)) != MAP_FAILED);
		MUST(pwrite(fd, "later", 6, 0) == 6);
		puts(memory);
	}
	SAY(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE));
	SAY(pwrite(fd, "x", 1, 0));
	if (!before)
		MUST((memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0)) != MAP_FAILED);
	memory[0] = 'F';
	puts(memory);
	close(fd);
}

int main(void)
{
	int plain = memfd_create("plain", MFD_CLOEXEC), fd = memfd_create("sealed", MFD_ALLOW_SEALING), again;
	char path[64];

	MUST(plain >= 0 && fd >= 0);
	SAY(fcntl(plain, F_GETFD));
	SAY(fcntl(plain, F_GET_SEALS));
	SAY(fcntl(plain, F_ADD_SEALS, F_SEAL_WRITE));
	SAY(fcntl(fd, F_GET_SEALS));
	MUST(!ftruncate(fd, 8192));
	SAY(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK));
	SAY(ftruncate(fd, 4096));
	SAY(ftruncate(fd, 12288));
	SAY(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW));
	SAY(ftruncate(fd, 20000));
	SAY(pwrite(fd, "xyz", 3, 12287));
	SAY(pwrite(fd, "xyz", 3, 12288));
	SAY(fallocate(fd, 0, 0, 20000));
	char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(memory != MAP_FAILED);
	SAY(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE));
	SAY(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE));
	SAY(write(fd, "x", 1));
	strcpy(memory, "through the old mapping");
	SAY(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0);
	SAY(munmap(memory, 4096));
	SAY(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE));
	memory = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	MUST(memory != MAP_FAILED);
	puts(memory);
	SAY(mprotect(memory, 4096, PROT_READ | PROT_WRITE));
	char *private = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	MUST(private != MAP_FAILED);
	strcpy(private, "own copy");
	printf("%s, %s\n", memory, private);
	SAY(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096));
	SAY(fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL));
	SAY(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK));
	SAY(fcntl(fd, F_GET_SEALS));
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	MUST((again = open(path, O_RDONLY)) >= 0);
	SAY(fcntl(again, F_GET_SEALS));
	SAY(fcntl(open("file", O_CREAT | O_RDWR, 0600), F_GET_SEALS));
	SAY(memfd_create("x", 0x100));
	privately(1);
	privately(0);
	return 0;
}
