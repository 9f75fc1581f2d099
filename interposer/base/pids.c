#include "base/pids.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* include/linux/threads.h, PID_MAX_LIMIT: the kernel's ids are smaller */
enum { IDS = 1 << 22, NOBODY = IDS };

static struct {
	struct pids *all;
	const char *path;
} own;

int pids_open(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || (size_t)st.st_size < sizeof(*own.all)) {
		close(fd);
		return -EBADMSG;
	}
	void *p = mmap(NULL, sizeof(*own.all), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return -errno;
	own.all = p;
	own.path = path;
	return own.all->n > PIDS ? -EBADMSG : 0;
}

struct pids *pids(void)
{
	return own.all;
}

const char *pids_path(void)
{
	return own.path;
}

void pids_thread(int32_t known)
{
	const uint32_t i = own.all ? __atomic_fetch_add(&own.all->nthreads, 1, __ATOMIC_SEQ_CST) : PIDS_ALSO;
	if (i < PIDS_ALSO)
		own.all->threads[i] = known;
}

static const struct pid_pair *outside(unsigned i)
{
	const struct pid_pair *const of[] = {&own.all->parent, &own.all->group, &own.all->session};
	return i < 3 ? of[i] : NULL;
}

/* What the program means by the id, all of whose threads and processes may have ended; 0: nothing of before the
 * restart. */
static int32_t meant(int32_t known)
{
	const struct pid_pair *one;
	for (uint32_t i = 0; i < own.all->n; i++)
		if (own.all->list[i].known == known)
			return own.all->list[i].now ? own.all->list[i].now : NOBODY;
	for (unsigned i = 0; (one = outside(i)); i++)
		if (one->known == known)
			return one->now;
	for (uint32_t i = 0; i < own.all->nthreads && i < PIDS_ALSO; i++)
		if (own.all->threads[i] == known)
			return NOBODY;
	return 0;
}

uint64_t pid_now(uint64_t known)
{
	const int32_t pid = (int32_t)known, number = pid < 0 ? -pid : pid;
	if (!own.all || number <= 0)
		return known;
	const int32_t before = meant(number), now = before ? before : number > IDS ? number % IDS : number;
	return (uint64_t)(int64_t)(pid < 0 ? -now : now);
}

int32_t pid_known(int32_t now)
{
	const struct pid_pair *one;
	if (!own.all || now <= 0)
		return now;
	for (uint32_t i = 0; i < own.all->n; i++)
		if (own.all->list[i].now == now)
			return own.all->list[i].known;
	for (unsigned i = 0; (one = outside(i)); i++)
		if (one->now == now)
			return one->known;
	while (meant(now))
		now += IDS;
	return now;
}

int32_t pid_parent_known(int32_t now)
{
	return own.all && now && own.all->parent.now == now ? own.all->parent.known : pid_known(now);
}

int32_t pid_group_known(int32_t now)
{
	return own.all && now && own.all->group.now == now ? own.all->group.known : pid_known(now);
}

int32_t pid_session_known(int32_t now)
{
	return own.all && now && own.all->session.now == now ? own.all->session.known : pid_known(now);
}

bool pid_of_signal(const siginfo_t *info)
{
	return info->si_signo == SIGCHLD || (info->si_code <= 0 && info->si_code != SI_TIMER);
}

void pids_signal(siginfo_t *info)
{
	if (pid_of_signal(info))
		info->si_pid = pid_known(info->si_pid);
}

void pids_signal_now(siginfo_t *info)
{
	if (pid_of_signal(info))
		info->si_pid = (pid_t)pid_now((uint64_t)info->si_pid);
}
