/* fork(2): a process that has used up all its descriptors, and may have no more (getrlimit(2)), still has children. */
#include "../observe.h"
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* As a program starts for a user who may not raise the limit. */
static void begin_again(char **argv)
{
	const struct rlimit limit = {300, 300};
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct sets[2];

	MUST(!setrlimit(RLIMIT_NOFILE, &limit));
	MUST(!syscall(SYS_prctl, 24, CAP_SYS_RESOURCE, 0, 0, 0) || errno == EPERM); /* PR_CAPBSET_DROP */
	MUST(!syscall(SYS_capget, &header, sets));
	sets[0].inheritable = 0;
	MUST(!syscall(SYS_capset, &header, sets));
	execl("/proc/self/exe", argv[0], "again", NULL);
	MUST(0);
}

int main(int argc, char **argv)
{
	struct stat st;
	int *shared, status;

	if (argc == 1)
		begin_again(argv);
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	MUST(shared != MAP_FAILED);
	while (open("/dev/null", O_RDONLY) >= 0)
		;
	SAY(open("/dev/null", O_RDONLY));
	for (int i = 0; i < 3; i++) {
		pid_t child;

		fflush(stdout);
		MUST((child = fork()) >= 0);
		if (!child) {
			SAY(stat("/", &st));
			shared[0]++;
			if (!fork())
				_exit(++shared[0]);
			MUST(wait(&status) > 0);
			_exit(WEXITSTATUS(status));
		}
		MUST(waitpid(child, &status, 0) == child);
		printf("%d, %d\n", WEXITSTATUS(status), shared[0]);
	}
	return 0;
}
