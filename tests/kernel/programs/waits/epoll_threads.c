/* epoll(7): one thread waits while another one adds, changes and removes descriptors of the same set. */
#include "../observe.h"
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

static int epoll, one, two;
static pthread_barrier_t barrier;

static void *waits(void *arg)
{
	struct epoll_event got;
	eventfd_t value;

	for (int i = 0; i < 3; i++) {
		MUST(epoll_wait(epoll, &got, 1, -1) == 1);
		printf("%d: %x of %lu\n", i, got.events, (unsigned long)got.data.u64);
		MUST(!eventfd_read(got.data.u64 == 1 ? one : two, &value));
		pthread_barrier_wait(&barrier);
	}
	return arg;
}

int main(void)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = 1};
	pthread_t thread;

	epoll = epoll_create1(0);
	one = eventfd(0, 0);
	two = eventfd(5, 0);
	MUST(!pthread_barrier_init(&barrier, NULL, 2) && !epoll_ctl(epoll, EPOLL_CTL_ADD, one, &event));
	MUST(!pthread_create(&thread, NULL, waits, NULL));
	MUST(!eventfd_write(one, 1));
	pthread_barrier_wait(&barrier);
	event.data.u64 = 2;
	MUST(!epoll_ctl(epoll, EPOLL_CTL_ADD, two, &event)); /* ready already */
	pthread_barrier_wait(&barrier);
	MUST(!epoll_ctl(epoll, EPOLL_CTL_DEL, one, NULL) && !eventfd_write(one, 1));
	event.events = 0;
	MUST(!epoll_ctl(epoll, EPOLL_CTL_MOD, two, &event) && !eventfd_write(two, 1));
	event.events = EPOLLIN | EPOLLET;
	MUST(!epoll_ctl(epoll, EPOLL_CTL_MOD, two, &event));
	pthread_barrier_wait(&barrier);
	MUST(!pthread_join(thread, NULL));
	return 0;
}
