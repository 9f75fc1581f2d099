#include "restart/process/identity_logged.h"
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "restart/base/branch_file.h"
#include "restart/process/identity.h"

enum { USERS, GROUPS, BOTH };
enum { REAL, EFFECTIVE, SAVED, FILES, IDS };
enum {
	SPACES = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
		 CLONE_NEWNET | 0x80 /* CLONE_NEWTIME */
};

static struct logged {
	bool begun;
	uint32_t id[BOTH][IDS]; /* as the program has set them */
	int securebits;         /* likewise */
	bool groups, capabilities, bounds, root, space, before;
} own;

static void launchers(uint32_t id[BOTH][IDS])
{
	uint32_t *u = id[USERS], *g = id[GROUPS];
	getresuid(&u[REAL], &u[EFFECTIVE], &u[SAVED]);
	getresgid(&g[REAL], &g[EFFECTIVE], &g[SAVED]);
	u[FILES] = u[EFFECTIVE];
	g[FILES] = g[EFFECTIVE];
}

static void begin(void)
{
	char before;
	if (own.begun)
		return;
	own.begun = true;
	launchers(own.id);
	own.securebits = prctl(PR_GET_SECUREBITS);
	own.before = branch_file_load("identity", &before, sizeof(before), sizeof(before));
}

bool identity_logged_hand_on(int fd)
{
	begin();
	return write(fd, &own, sizeof(own)) == (ssize_t)sizeof(own);
}

bool identity_logged_inherit(int fd)
{
	return read(fd, &own, sizeof(own)) == (ssize_t)sizeof(own);
}

static void set(uint32_t *id, uint64_t to)
{
	if ((uint32_t)to != UINT32_MAX)
		*id = (uint32_t)to;
}

/* setuid(2), setreuid(2), setresuid(2), setfsuid(2), and those of groups */
static void ids(uint32_t *id, const uint64_t *a, unsigned n)
{
	const uint32_t real = id[REAL];
	if (n == 1 && own.id[USERS][EFFECTIVE] == 0)
		set(&id[REAL], a[0]), set(&id[SAVED], a[0]);
	set(&id[n == 1 ? EFFECTIVE : REAL], a[0]);
	if (n > 1)
		set(&id[EFFECTIVE], a[1]);
	if (n == 2 && ((uint32_t)a[0] != UINT32_MAX || ((uint32_t)a[1] != UINT32_MAX && (uint32_t)a[1] != real)))
		id[SAVED] = id[EFFECTIVE];
	if (n == 3)
		set(&id[SAVED], a[2]);
	id[FILES] = id[EFFECTIVE];
}

static bool other_groups(const struct event *ev)
{
	static gid_t groups[1 << 16]; /* NGROUPS_MAX */
	const int n = getgroups(sizeof(groups) / sizeof(*groups), groups);
	return n < 0 || (uint64_t)n != ev->args[0] ||
	       memcmp(groups, (const void *)ev->args[1], (size_t)n * sizeof(*groups)) != 0;
}

static bool other_capabilities(const struct event *ev)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3] = {0};
	const struct __user_cap_header_struct *asked = (const void *)ev->args[0];
	const size_t size = sizeof(*has) * (asked->version == _LINUX_CAPABILITY_VERSION_1 ? 1 : 2);
	return raw_syscall(SYS_capget, (long)&head, (long)has, 0, 0, 0, 0) < 0 ||
	       memcmp(has, (const void *)ev->args[1], size) != 0;
}

static void settings(const uint64_t *a)
{
	switch (a[0]) {
	case PR_CAPBSET_DROP: own.bounds = true; break;
	case PR_CAP_AMBIENT: own.bounds |= a[1] == PR_CAP_AMBIENT_RAISE; break;
	case PR_SET_SECUREBITS: own.securebits = (int)a[1]; break;
	case PR_SET_KEEPCAPS:
		own.securebits &= ~SECBIT_KEEP_CAPS;
		own.securebits |= a[1] ? SECBIT_KEEP_CAPS : 0;
		break;
	}
}

void identity_logged(const struct event *ev)
{
	const uint64_t *a = ev->args;
	begin();
	identity_syscall(ev);
	switch (ev->nr) {
	case SYS_setuid: ids(own.id[USERS], a, 1); break;
	case SYS_setgid: ids(own.id[GROUPS], a, 1); break;
	case SYS_setreuid: ids(own.id[USERS], a, 2); break;
	case SYS_setregid: ids(own.id[GROUPS], a, 2); break;
	case SYS_setresuid: ids(own.id[USERS], a, 3); break;
	case SYS_setresgid: ids(own.id[GROUPS], a, 3); break;
	case SYS_setfsuid: set(&own.id[USERS][FILES], a[0]); break;
	case SYS_setfsgid: set(&own.id[GROUPS][FILES], a[0]); break;
	case SYS_setgroups: own.groups = other_groups(ev); break;
	case SYS_capset: own.capabilities = other_capabilities(ev); break;
	case SYS_prctl: settings(a); break;
	case SYS_chroot: own.root |= strcmp((const char *)a[0], "/") != 0; break;
	case SYS_pivot_root: own.root = true; break;
	case SYS_unshare: own.space |= (a[0] & SPACES) != 0; break;
	case SYS_setns: own.space = true; break;
	}
}

const char *identity_logged_refuses(void)
{
	uint32_t now[BOTH][IDS];
	begin();
	launchers(now);
	return own.before ? "an earlier program of its process has changed its user, capabilities, "
			    "root directory or namespaces"
	       : own.groups || memcmp(now, own.id, sizeof(now)) ? "it has changed its user or its groups"
	       : own.capabilities || own.bounds                 ? "it has changed its capabilities"
	       : own.securebits != prctl(PR_GET_SECUREBITS)     ? "it has changed its securebits"
	       : own.root                                       ? "it has changed its root directory (chroot)"
	       : own.space                                      ? "it has other namespaces than its launcher"
	       : identity_has_keys()                            ? "it has a keyring of its own"
								: NULL;
}
