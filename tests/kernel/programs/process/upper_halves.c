/* syscall(2): of an argument that is an int or unsigned int the kernel takes the lower half of the register. */
#include "../observe.h"
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define UPPER 0xface1e5500000000
#define W(n) (UPPER | (unsigned)(n))

static int lock_file, woken;

static void *unlocks(void *unused)
{
	struct flock f = {.l_type = F_UNLCK, .l_len = 1};

	fcntl(lock_file, F_OFD_SETLK, &f);
	return unused;
}

static void *wakes(void *unused)
{
	__atomic_store_n(&woken, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &woken, W(FUTEX_WAKE), W(1), NULL, NULL, 0);
	return unused;
}

static void descriptors(void)
{
	struct f_owner_ex owner = {7, 7};
	struct pollfd asks[2];
	struct flock f = {.l_type = F_WRLCK, .l_len = 1};
	int ends[2], copy;
	char text[8] = "";
	struct iovec one = {text, 4};
	pthread_t thread;

	MUST(!pipe(ends) && write(ends[1], "abcdefgh", 8) == 8);
	SAY(syscall(SYS_read, W(ends[0]), text, 2));
	SAY(syscall(SYS_readv, W(ends[0]), &one, 1));
	printf("%s\n", text);
	asks[0] = (struct pollfd){ends[0], POLLIN, 0};
	asks[1] = (struct pollfd){ends[1], POLLOUT, 0};
	SAY(syscall(SYS_poll, asks, W(2), W(-1)));
	SAY(syscall(SYS_ppoll, asks, W(2), NULL, NULL, 8));
	printf("%x %x\n", asks[0].revents, asks[1].revents);
	SAY(syscall(SYS_fcntl, W(ends[0]), W(F_SETFL), O_NONBLOCK));
	printf("%x\n", fcntl(ends[0], F_GETFL) & O_NONBLOCK);
	SAY(syscall(SYS_fcntl, W(ends[0]), W(F_GETOWN_EX), &owner));
	printf("%d %d\n", owner.type, owner.pid);
	OK(copy = (int)syscall(SYS_dup, W(ends[0])));
	OK(syscall(SYS_dup3, W(ends[0]), W(copy), W(O_CLOEXEC)));
	printf("%x\n", fcntl(copy, F_GETFD));
	SAY(syscall(SYS_close_range, W(copy), W(copy), W(0)));
	SAY(fcntl(copy, F_GETFD));
	SAY(syscall(SYS_close, W(ends[0])));
	OK(lock_file = (int)syscall(SYS_openat, W(AT_FDCWD), "file", W(O_CREAT | O_RDWR), W(0600)));
	SAY(fcntl(lock_file, F_OFD_SETLK, &f));
	MUST((copy = open("file", O_RDWR)) >= 0);
	MUST(!pthread_create(&thread, NULL, unlocks, NULL));
	SAY(syscall(SYS_fcntl, W(copy), W(F_OFD_SETLKW), &f));
	MUST(!pthread_join(thread, NULL));
}

static void sockets(void)
{
	int pair[2], size = 0;
	char text[8] = "";
	socklen_t len = sizeof(size);
	struct iovec one = {text, sizeof(text)};
	struct mmsghdr messages[2] = {{.msg_hdr = {.msg_iov = &one, .msg_iovlen = 1}}};

	SAY(syscall(SYS_socketpair, W(AF_UNIX), W(SOCK_DGRAM), W(0), pair));
	SAY(syscall(SYS_sendto, W(pair[0]), "hello", 5, W(MSG_NOSIGNAL), NULL, W(0)));
	SAY(syscall(SYS_recvmmsg, W(pair[1]), messages, W(2), W(MSG_DONTWAIT), NULL));
	printf("%u %s\n", messages[0].msg_len, text);
	SAY(syscall(SYS_recvfrom, W(pair[1]), text, sizeof(text), W(MSG_DONTWAIT), NULL, NULL));
	SAY(syscall(SYS_getsockopt, W(pair[0]), W(SOL_SOCKET), W(SO_TYPE), &size, &len));
	printf("%d %u\n", size, len);
}

static void others(void)
{
	uint32_t attr[12] = {0}; /* struct sched_attr: size, policy, ... */
	int status = 0;
	pid_t child;
	pthread_t thread;
	unsigned char *page;

	SAY(syscall(SYS_sched_getattr, W(0), attr, W(48), W(0)));
	printf("%u %u\n", attr[0], attr[1]);
	attr[0] = 1;
	SAY(syscall(SYS_sched_setattr, W(0), attr, W(0)));
	OK(syscall(SYS_getpriority, W(PRIO_PROCESS), W(0)));
	MUST((child = fork()) >= 0);
	if (!child)
		syscall(SYS_exit_group, W(5));
	MUST(syscall(SYS_wait4, W(child), &status, W(0), NULL) == child);
	printf("%x\n", status);
	SAY(syscall(SYS_kill, W(getpid()), W(0)));
	MUST(!pthread_create(&thread, NULL, wakes, NULL));
	while (!__atomic_load_n(&woken, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &woken, W(FUTEX_WAIT), W(0), NULL, NULL, 0);
	MUST(!pthread_join(thread, NULL));
	MUST((page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) != MAP_FAILED);
	*page = 1;
	SAY(syscall(SYS_madvise, page, 4096, W(MADV_DONTNEED)));
	printf("%u\n", *page);
	SAY(syscall(SYS_arch_prctl, W(0x9999), 0));
}

int main(void)
{
	descriptors();
	sockets();
	others();
	return 0;
}
