/* Mistakes of threads and processes that a run shows rarely.  Usage: rare NAME; exit code 1: it has shown. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, m2 = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;

static void both(void *(*f)(void *), void *(*g)(void *))
{
	pthread_t a, b;
	pthread_create(&a, NULL, f, (void *)0);
	pthread_create(&b, NULL, g, (void *)1);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
}

static void work(volatile long *sink, long n)
{
	for (long i = 0; i < n; i++)
		*sink += i;
}

/* lost_update: an increment that is not atomic, once in a while */
static volatile long counter, sink[2];
static void *update(void *arg)
{
	for (int i = 0; i < 300; i++) {
		work(&sink[(long)arg], 3000);
		long seen = counter;
		counter = seen + 1;
	}
	return NULL;
}
static int lost_update(void)
{
	both(update, update);
	return counter != 600;
}

/* lost_increment: the same in one instruction */
static long increments;
static void *increment(void *arg)
{
	for (int i = 0; i < 300; i++) {
		work(&sink[(long)arg], 3000);
		__asm__ volatile("incq %0" : "+m"(increments));
	}
	return NULL;
}
static int lost_increment(void)
{
	both(increment, increment);
	return increments != 600;
}

/* missed_wake_up: the flag is looked at before the mutex is taken */
static atomic_int ready, woken;
static void *waits(void *arg)
{
	work(&sink[0], 30000);
	if (!ready) {
		struct timespec until;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += 1;
		pthread_mutex_lock(&m);
		if (pthread_cond_timedwait(&c, &m, &until) == 0)
			woken = 1;
		pthread_mutex_unlock(&m);
	} else
		woken = 1;
	return arg;
}
static void *wakes(void *arg)
{
	work(&sink[1], 60000);
	ready = 1;
	pthread_cond_signal(&c);
	return arg;
}
static int missed_wake_up(void)
{
	both(waits, wakes);
	return !woken;
}

/* double_check: the pointer is published before the object is complete */
struct object {
	int a, b;
};
static struct object *_Atomic object;
static atomic_int bad;
static struct object *get(void)
{
	struct object *o = object;
	if (!o) {
		pthread_mutex_lock(&m);
		o = object;
		if (!o) {
			o = calloc(1, sizeof(*o));
			object = o;
			work(&sink[0], 20);
			o->a = o->b = 7;
		}
		pthread_mutex_unlock(&m);
	}
	return o;
}
static void *uses(void *arg)
{
	work(&sink[(long)arg], arg ? 40000 : 20000);
	if (get()->b != 7)
		bad = 1;
	return NULL;
}
static int double_check(void)
{
	both(uses, uses);
	return bad;
}

/* aba: a stack by compare and swap without a counter */
struct node {
	struct node *_Atomic next;
};
static struct node nodes[4];
static struct node *_Atomic top;
static struct node *pop(void)
{
	struct node *n = top, *next;
	do {
		if (!n)
			return NULL;
		next = n->next;
	} while (!atomic_compare_exchange_strong(&top, &n, next));
	return n;
}
static void push(struct node *n)
{
	struct node *old = top;
	do
		n->next = old;
	while (!atomic_compare_exchange_strong(&top, &old, n));
}
static void *pops(void *arg)
{
	for (int i = 0; i < 200; i++) {
		struct node *a = pop(), *b = pop();
		work(&sink[(long)arg], 1000);
		if (a)
			push(a);
		if (b)
			push(b);
	}
	return NULL;
}
static int aba(void)
{
	for (int i = 0; i < 4; i++)
		push(&nodes[i]);
	both(pops, pops);
	int n = 0;
	for (struct node *p = top; p && n < 100; p = p->next)
		n++;
	return n != 4;
}

/* torn: two fields that belong together are read without the lock */
static volatile long left, right;
static atomic_int done;
static void *writes(void *arg)
{
	for (int i = 0; i < 200; i++) {
		pthread_mutex_lock(&m);
		left = i;
		right = i;
		pthread_mutex_unlock(&m);
		work(&sink[0], 5000);
	}
	done = 1;
	return arg;
}
static void *reads(void *arg)
{
	while (!done) {
		long r = right, l = left;
		if (l != r)
			bad = 1;
		work(&sink[1], 5000);
	}
	return arg;
}
static int torn(void)
{
	both(writes, reads);
	return bad;
}

/* lock_order: two locks, taken in both orders */
static void *first(void *arg)
{
	pthread_mutex_t *x = arg ? &m2 : &m, *y = arg ? &m : &m2;
	struct timespec until;
	for (int i = 0; i < 20; i++) {
		work(&sink[(long)arg], 20000);
		pthread_mutex_lock(x);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += 1;
		if (pthread_mutex_timedlock(y, &until)) {
			bad = 1;
			pthread_mutex_unlock(x);
			return NULL;
		}
		pthread_mutex_unlock(y);
		pthread_mutex_unlock(x);
	}
	return NULL;
}
static int lock_order(void)
{
	both(first, first);
	return bad;
}

/* early_free: the owner takes 30 ms for enough, and writes over what another thread still reads */
static int *volatile shared;
static void *late(void *arg)
{
	work(&sink[1], 10000);
	if (*shared != 5)
		bad = 1;
	return arg;
}
static int early_free(void)
{
	pthread_t t;
	shared = malloc(4096);
	*shared = 5;
	pthread_create(&t, NULL, late, NULL);
	usleep(30000);
	*shared = 0;
	pthread_join(t, NULL);
	return bad;
}

/* signal_pause: SIGCHLD may come between the look at the flag and pause() */
static volatile sig_atomic_t ended, alarmed;
static void on_child(int sig)
{
	ended = 1;
	(void)sig;
}
static void on_alarm(int sig)
{
	alarmed = 1;
	(void)sig;
}
static int signal_pause(void)
{
	signal(SIGCHLD, on_child);
	signal(SIGALRM, on_alarm);
	pid_t pid = fork();
	if (!pid) {
		usleep(2000);
		_exit(0);
	}
	alarm(1);
	while (!ended && !alarmed)
		pause();
	waitpid(pid, NULL, 0);
	return alarmed;
}

/* pipe_order: two children write to one pipe; the first is expected to be the first */
static int pipe_order(void)
{
	int p[2];
	char c = 0;
	if (pipe(p))
		return 2;
	for (int i = 0; i < 2; i++) {
		if (!fork()) {
			char mine = (char)('a' + i);
			usleep((unsigned)i * 20000);
			_exit(write(p[1], &mine, 1) != 1);
		}
	}
	if (read(p[0], &c, 1) != 1)
		return 2;
	while (wait(NULL) > 0)
		;
	return c != 'a';
}

/* check_then_act: a slot is looked for and taken in two steps */
static atomic_int slots[64];
static atomic_int taken[64];
static void *takes(void *arg)
{
	for (int k = 0; k < 30; k++) {
		work(&sink[(long)arg], 20000);
		for (int i = 0; i < 64; i++)
			if (!slots[i]) {
				slots[i] = 1;
				taken[i]++;
				break;
			}
	}
	return NULL;
}
static int check_then_act(void)
{
	both(takes, takes);
	for (int i = 0; i < 64; i++)
		if (taken[i] > 1)
			return 1;
	return 0;
}

static const struct {
	const char *name;
	int (*run)(void);
} cases[] = {
	{"lost_update", lost_update},
	{"lost_increment", lost_increment},
	{"missed_wake_up", missed_wake_up},
	{"double_check", double_check},
	{"aba", aba},
	{"torn", torn},
	{"lock_order", lock_order},
	{"early_free", early_free},
	{"signal_pause", signal_pause},
	{"pipe_order", pipe_order},
	{"check_then_act", check_then_act},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (argc == 2 && !strcmp(argv[1], cases[i].name))
			return cases[i].run();
	return 2;
}
