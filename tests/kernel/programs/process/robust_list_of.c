/* get_robust_list(2): tells the list that a thread has set, by its number or 0; whoever is not there is ESRCH. */
#include "../observe.h"
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_barrier_t both;
static pid_t other;
static struct robust_list_head heads[2];

static void set(int i)
{
	heads[i].list.next = &heads[i].list;
	MUST(!syscall(SYS_set_robust_list, &heads[i], sizeof heads[i]));
}

static void look(const char *whose, pid_t tid)
{
	struct robust_list_head *head = NULL;
	size_t length = 0;

	printf("%s: ", whose);
	SAY(syscall(SYS_get_robust_list, tid, &head, &length));
	printf("%s %zu\n", head == &heads[0] ? "first" : head == &heads[1] ? "second" : "none", length);
}

static void *thread(void *unused)
{
	other = gettid();
	set(1);
	pthread_barrier_wait(&both);
	pthread_barrier_wait(&both);
	return unused;
}

int main(void)
{
	pthread_t t;
	size_t length;
	void *head;

	pthread_barrier_init(&both, NULL, 2);
	set(0);
	MUST(!pthread_create(&t, NULL, thread, NULL));
	pthread_barrier_wait(&both);
	look("own", 0);
	look("by number", gettid());
	look("other thread", other);
	SAY(syscall(SYS_get_robust_list, 0x3fffffff, &head, &length));
	SAY(syscall(SYS_get_robust_list, 0, &head, NULL));
	SAY(syscall(SYS_get_robust_list, 0, NULL, &length));
	SAY(syscall(SYS_set_robust_list, &heads[0], 1));
	pthread_barrier_wait(&both);
	pthread_join(t, NULL);
	return 0;
}
