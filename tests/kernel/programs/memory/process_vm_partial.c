/* process_vm_readv(2): a transfer may be partial where a remote page is not there; EFAULT if none of it is. */
#include "../observe.h"
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>

int main(void)
{
	char *p = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), to[64] = "";
	struct iovec local = {to, 32}, remote[3] = {{p + 4080, 8}, {p + 4088, 16}, {p, 8}};
	int ends[2];
	pid_t pid;
	char c;

	MUST(p != MAP_FAILED && !munmap(p + 4096, 4096) && !pipe(ends));
	memset(p, 'a', 4096);
	pid = fork();
	if (!pid) {
		close(ends[1]);
		_exit((int)read(ends[0], &c, 1));
	}
	memset(p, 'b', 4096); /* the child's has 'a' */
	if (process_vm_readv(pid, &local, 1, remote, 1, 0) < 0 && errno == EPERM)
		skip("process_vm_readv");
	SAY(process_vm_readv(pid, &local, 1, remote, 3, 0));
	printf("%.32s\n", to);
	remote[0].iov_base = p + 4096;
	SAY(process_vm_readv(pid, &local, 1, remote, 1, 0));
	SAY(process_vm_readv(pid, &local, 1, remote, 1, 1));
	SAY(process_vm_readv(pid, &local, 2000, remote, 1, 0));
	SAY(process_vm_writev(pid, &local, 1, remote + 2, 1, 0));
	remote[0].iov_base = p;
	SAY(process_vm_readv(getpid(), &local, 1, remote, 1, 0));
	printf("%.32s\n", to);
	close(ends[1]);
	MUST(waitpid(pid, NULL, 0) == pid);
	SAY(process_vm_readv(pid, &local, 1, remote, 1, 0));
	return 0;
}
