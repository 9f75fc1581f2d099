/* proc_pid_comm(5): a thread's name can be written there, is cut to 15 bytes, and PR_GET_NAME reads it. */
#include "../observe.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/prctl.h>

static void show(const char *path)
{
	char text[64] = "";
	int fd = open(path, O_RDONLY);

	MUST(fd >= 0);
	long n = SAY(read(fd, text, sizeof text));
	MUST(n > 0 && !close(fd));
	printf("%s: %s", path, text);
}

static void *thread(void *arg)
{
	char name[32];

	(void)arg;
	show("/proc/thread-self/comm");
	SAY(pthread_setname_np(pthread_self(), "the thread"));
	show("/proc/thread-self/comm");
	show("/proc/self/comm");
	snprintf(name, sizeof name, "/proc/self/task/%d/comm", gettid());
	int fd = open(name, O_WRONLY);
	MUST(fd >= 0 && write(fd, "by its number", 13) == 13);
	MUST(!prctl(PR_GET_NAME, name));
	puts(name);
	return NULL;
}

int main(void)
{
	char name[16];
	pthread_t other;
	int fd = open("/proc/self/comm", O_WRONLY);

	MUST(fd >= 0);
	show("/proc/self/comm");
	SAY(write(fd, "longer than fifteen bytes", 25));
	show("/proc/self/comm");
	MUST(!prctl(PR_GET_NAME, name));
	printf("%zu: %s\n", strlen(name), name);
	SAY(pwrite(fd, "line\nfeed", 9, 0));
	show("/proc/self/comm");
	MUST(!pthread_create(&other, NULL, thread, NULL) && !pthread_join(other, NULL));
	show("/proc/self/comm");
	return 0;
}
