/* process_vm_readv(2): a process reads another one's memory, in parts, up to what is not there. */
#include "../observe.h"
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>

int main(void)
{
	char *there = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), here[16] = "";
	int up[2], down[2], status;
	char c;

	MUST(there != MAP_FAILED && !pipe(up) && !pipe(down));
	pid_t child = fork();
	if (!child) {
		strcpy(there, "in the child");
		MUST(!munmap(there + 4096, 4096));
		MUST(write(up[1], "x", 1) == 1 && read(down[0], &c, 1) == 1);
		_exit(0);
	}
	MUST(read(up[0], &c, 1) == 1);
	struct iovec mine[2] = {{here, 3}, {here + 3, 10}}, theirs[2] = {{there, 7}, {there + 4090, 10}};
	SAY(process_vm_readv(child, mine, 2, theirs, 2, 0));
	printf("%s\n", here);
	theirs[0].iov_base = there + 5000;
	SAY(process_vm_readv(child, mine, 1, theirs, 1, 0));
	SAY(process_vm_readv(child, mine, 1, theirs, 1, 1));
	SAY(process_vm_readv(0x7ffffffe, mine, 1, theirs, 1, 0));
	MUST(write(down[1], "x", 1) == 1 && waitpid(child, &status, 0) == child);
	return 0;
}
