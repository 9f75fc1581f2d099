/* unlink(2): rmdir(2): an open file lives on; which names cannot be removed. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

int main(void)
{
	char text[16] = "";
	struct stat s;
	int fd, again;

	MUST((fd = open("file", O_CREAT | O_RDWR, 0600)) >= 0 && write(fd, "still here", 10) == 10);
	char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(memory != MAP_FAILED && !mkdir("dir", 0700) && !mkdir("dir/sub", 0700) && !symlink("dir", "link"));
	SAY(unlink("file"));
	MUST(!fstat(fd, &s));
	printf("links %lu, size %ld\n", (unsigned long)s.st_nlink, (long)s.st_size);
	memcpy(memory, "STILL", 5);
	SAY(pread(fd, text, 10, 0));
	puts(text);
	MUST((again = open("file", O_CREAT | O_EXCL | O_RDWR, 0600)) >= 0);
	SAY(read(again, text, 10));
	SAY(close(fd));
	printf("%.10s\n", memory);
	SAY(unlink("file"));
	SAY(unlink("file"));
	SAY(unlink("dir"));
	SAY(unlink("file/x"));
	SAY(rmdir("dir"));
	SAY(rmdir("link"));
	SAY(rmdir("dir/."));
	SAY(rmdir("dir/sub/.."));
	SAY(rmdir("/"));
	SAY(rmdir("."));
	SAY(rmdir("dir/sub/"));
	SAY(unlink("link"));
	SAY(rmdir("dir"));
	SAY(unlink("/proc/self/status"));
	SAY(unlink(""));
	SAY(remove("absent"));
	return 0;
}
