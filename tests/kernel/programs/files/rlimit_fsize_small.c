/* setrlimit(2): RLIMIT_FSIZE of a few bytes, down to 0 as sandboxes set it, in every call that makes a file longer. */
#include "../observe.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <sys/wait.h>

enum { MOST = 100 };

static volatile sig_atomic_t came;

static void handler(int number, siginfo_t *info, void *context)
{
	(void)context;
	came = number * 1000 + info->si_code;
}

static void at_end(int fd, off_t at)
{
	MUST(!ftruncate(fd, at) && lseek(fd, at, SEEK_SET) == at);
}

#define TRY(call) (came = 0, SAY(call), printf("  %d\n", came))

static void calls(int fd, int from)
{
	static char text[4 * MOST];
	struct iovec parts[2] = {{text, MOST - 10}, {text, 20}};
	loff_t at = MOST - 3;
	int ends[2];

	memset(text, 'x', sizeof(text));
	at_end(fd, 0);
	TRY(write(fd, text, sizeof(text)));
	TRY(write(fd, text, 1));
	TRY(write(fd, text, 0));
	TRY(pwrite(fd, text, 10, MOST - 5));
	TRY(pwrite(fd, text, 10, MOST + 5));
	TRY(pwrite(fd, text, 10, 0));
	at_end(fd, 0);
	TRY(writev(fd, parts, 2));
	TRY(pwritev(fd, parts, 2, MOST));
	TRY(pwritev2(fd, parts, 2, MOST - 1, 0));
	TRY(ftruncate(fd, MOST));
	TRY(ftruncate(fd, MOST + 1));
	TRY(truncate("file", MOST + 1));
	TRY(truncate("file", 3));
	TRY(fallocate(fd, 0, 0, MOST + 1));
	TRY(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, MOST));
	at_end(fd, MOST - 4);
	MUST(!lseek(from, 0, SEEK_SET));
	TRY(sendfile(fd, from, NULL, 20));
	TRY(sendfile(fd, from, NULL, 20));
	MUST(!lseek(from, 0, SEEK_SET));
	TRY(copy_file_range(from, NULL, fd, &at, 20, 0));
	TRY(copy_file_range(from, NULL, fd, &at, 20, 0));
	MUST(!pipe(ends) && write(ends[1], text, 2 * MOST) == 2 * MOST);
	at_end(fd, MOST - 4);
	TRY(splice(ends[0], NULL, fd, NULL, 20, 0));
	TRY(splice(ends[0], NULL, fd, NULL, 20, 0));
	close(ends[0]);
	close(ends[1]);
	MUST(!fcntl(fd, F_SETFL, O_APPEND));
	at_end(fd, MOST - 2);
	TRY(write(fd, text, 10));
	TRY(write(fd, text, 10));
	MUST(!fcntl(fd, F_SETFL, 0));
}

static void *thread(void *arg)
{
	TRY(pwrite(*(int *)arg, "0123456789", 10, MOST));
	return NULL;
}

int main(void)
{
	struct rlimit limit, had;
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	pthread_t other;
	int fd, from, status;
	char *mapped;

	MUST((fd = open("file", O_CREAT | O_RDWR, 0600)) >= 0 && (from = open("from", O_CREAT | O_RDWR, 0600)) >= 0);
	MUST(!ftruncate(from, 4096) && !getrlimit(RLIMIT_FSIZE, &had));
	MUST(!sigaction(SIGXFSZ, &action, NULL));
	limit = (struct rlimit){MOST, had.rlim_max};
	SAY(setrlimit(RLIMIT_FSIZE, &limit));
	SAY(getrlimit(RLIMIT_FSIZE, &limit));
	printf("limit %ld, the same most %d\n", (long)limit.rlim_cur, limit.rlim_max == had.rlim_max);
	calls(fd, from);
	MUST(!pthread_create(&other, NULL, thread, &fd) && !pthread_join(other, NULL));

	/* mappings and what is no regular file know no limit */
	MUST((mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, from, 0)) != MAP_FAILED);
	mapped[2 * MOST] = 1;
	SAY(system("ulimit -f; echo longer than most >> file; grep '^Max file size' /proc/self/limits") / 256);

	fflush(stdout);
	if (!fork()) {
		signal(SIGXFSZ, SIG_DFL);
		_exit(pwrite(fd, "x", 1, MOST) == 1);
	}
	MUST(wait(&status) > 0);
	printf("killed by %d\n", WTERMSIG(status));

	limit = (struct rlimit){0, 0};
	SAY(setrlimit(RLIMIT_FSIZE, &limit));
	TRY(pwrite(fd, "x", 1, 0));
	SAY(ftruncate(fd, 0));
	printf("end\n");
	return 0;
}
