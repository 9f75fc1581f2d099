#include "restart/process/identity.h"
#include <linux/keyctl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/crc32c.h"
#include "base/descriptors.h"
#include "restart/base/branch_file.h"
#include "task/thread.h"

static const char *const spaces[] = {"mnt", "net", "uts", "ipc", "user", "cgroup", "pid", "time"};
enum { SPACES = sizeof(spaces) / sizeof(*spaces) };

struct identity {
	uint32_t users, capabilities, spaces[SPACES]; /* checksums; 0: the kernel does not tell */
};

static struct {
	struct identity given;
	dev_t root_dev;
	ino_t root_ino;
	int securebits;
	bool inherited, keys;
} own;

/* proc_pid_status(5) */
static uint32_t sum_of(const char *status, const char *const *names, unsigned n)
{
	uint32_t sum = 0;
	for (unsigned i = 0; i < n; i++) {
		const char *at = strstr(status, names[i]);
		sum = at ? crc32c(sum, at, strcspn(at + 1, "\n")) : sum;
	}
	return sum;
}

static void look_at(int tid, struct identity *one)
{
	static const char *const users[] = {"\nUid:", "\nGid:", "\nGroups:"}, *const capabilities[] = {
										      "\nCapInh:", "\nCapPrm:",
										      "\nCapEff:", "\nCapBnd:",
										      "\nCapAmb:"};
	static char status[1 << 20]; /* a process has up to 65,536 groups */
	char path[64], name[64];
	snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	descriptor_text(path, status, sizeof(status));
	one->users = sum_of(status, users, sizeof(users) / sizeof(*users));
	one->capabilities = sum_of(status, capabilities, sizeof(capabilities) / sizeof(*capabilities));
	for (unsigned i = 0; i < SPACES; i++) {
		snprintf(path, sizeof(path), "/proc/self/task/%d/ns/%s", tid, spaces[i]);
		const ssize_t n = readlink(path, name, sizeof(name));
		one->spaces[i] = n > 0 ? crc32c(0, name, (size_t)n) : 0;
	}
}

static void root_now(dev_t *dev, ino_t *ino)
{
	struct stat st = {0};
	stat("/", &st);
	*dev = st.st_dev;
	*ino = st.st_ino;
}

void identity_begin(void)
{
	if (own.inherited)
		return;
	look_at(lower.pid, &own.given);
	root_now(&own.root_dev, &own.root_ino);
	own.securebits = prctl(PR_GET_SECUREBITS);
}

bool identity_hand_on(int fd)
{
	return write(fd, &own, sizeof(own)) == (ssize_t)sizeof(own);
}

bool identity_inherit(int fd)
{
	own.inherited = read(fd, &own, sizeof(own)) == (ssize_t)sizeof(own);
	return own.inherited;
}

static bool of_process(uint64_t ring)
{
	return (int32_t)ring == KEY_SPEC_THREAD_KEYRING || (int32_t)ring == KEY_SPEC_PROCESS_KEYRING;
}

/* keyrings(7): keys of other keyrings outlive the process. */
void identity_syscall(const struct event *ev)
{
	const uint64_t *a = ev->args;
	if (ev->nr == SYS_add_key)
		own.keys |= of_process(a[4]);
	else if (ev->nr == SYS_request_key)
		own.keys |= of_process(a[3]);
	else if (ev->nr == SYS_keyctl)
		own.keys |= a[0] == KEYCTL_JOIN_SESSION_KEYRING ||
			    ((a[0] == KEYCTL_LINK || a[0] == KEYCTL_MOVE) && (of_process(a[2]) || of_process(a[3]))) ||
			    (a[0] == KEYCTL_GET_KEYRING_ID && of_process(a[1]) && a[2]);
}

bool identity_has_keys(void)
{
	return own.keys;
}

void identity_left(void)
{
	if (own.inherited && identity_refuses())
		recording_file_save("identity", "", 1);
}

const char *identity_refuses(void)
{
	static char why[64];
	dev_t dev;
	ino_t ino;
	root_now(&dev, &ino);
	if (dev != own.root_dev || ino != own.root_ino)
		return "it has changed its root directory (chroot)";
	if (own.keys)
		return "it has a keyring of its own";
	for (const struct thread *t = threads_first(); t; t = t->next) {
		struct identity now;
		look_at(t->carrier, &now);
		if (now.users != own.given.users)
			return "it has changed its user or its groups";
		if (now.capabilities != own.given.capabilities)
			return "it has changed its capabilities";
		for (unsigned i = 0; i < SPACES; i++)
			if (now.spaces[i] != own.given.spaces[i]) {
				snprintf(why, sizeof(why), "it has another namespace than its launcher (%s)",
					 spaces[i]);
				return why;
			}
	}
	return prctl(PR_GET_SECUREBITS) == own.securebits ? NULL : "it has changed its securebits";
}
