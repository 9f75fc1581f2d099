/* live_identity WAY [PROGRAM...]: changes what the process is for the kernel, calls getppid(2), and says its users, and
 * its threads' names.  With PROGRAM it executes that instead. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/securebits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { OTHER = 1000 };

static int pipe_of_thread[2];

static void *named(void *unused)
{
	char name[16], byte;
	pthread_setname_np(pthread_self(), "worker");
	(void)read(pipe_of_thread[0], &byte, 1);
	pthread_getname_np(pthread_self(), name, sizeof(name));
	printf("%s\n", name);
	return unused;
}

static int change(const char *way)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct none[2] = {0};
	if (!strcmp(way, "user"))
		return setresuid(OTHER, OTHER, OTHER);
	if (!strcmp(way, "user-for-a-while"))
		return seteuid(OTHER) || seteuid(0);
	if (!strcmp(way, "same-user"))
		return setuid(getuid()) || setgid(getgid()) || setreuid((uid_t)-1, geteuid());
	if (!strcmp(way, "group"))
		return setregid(OTHER, (gid_t)-1);
	if (!strcmp(way, "groups"))
		return setgroups(1, (gid_t[]){OTHER});
	if (!strcmp(way, "root"))
		return chroot("/var");
	if (!strcmp(way, "space"))
		return unshare(CLONE_NEWUTS);
	if (!strcmp(way, "capabilities"))
		return (int)syscall(SYS_capset, &head, none);
	if (!strcmp(way, "bounds"))
		return prctl(PR_CAPBSET_DROP, CAP_SYS_BOOT);
	if (!strcmp(way, "bounds-then-capabilities"))
		return prctl(PR_CAPBSET_DROP, CAP_SYS_BOOT) || syscall(SYS_capget, &head, none) ||
		       syscall(SYS_capset, &head, none);
	if (!strcmp(way, "securebits"))
		return prctl(PR_SET_SECUREBITS, SECBIT_NOROOT) || prctl(PR_SET_KEEPCAPS, 0);
	if (!strcmp(way, "keeps-for-a-while"))
		return prctl(PR_SET_KEEPCAPS, 1) || prctl(PR_SET_KEEPCAPS, 0);
	if (!strcmp(way, "keyring"))
		return syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0;
	if (!strcmp(way, "owner"))
		return fcntl(open("/", O_RDONLY), F_SETOWN, getpid());
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	char name[16];
	if (argc < 2 || change(argv[1]))
		return 1;
	if (argc > 2) {
		execv(argv[2], argv + 2);
		return 2;
	}
	if (pipe(pipe_of_thread) || pthread_create(&thread, NULL, named, NULL))
		return 3;
	getppid();
	prctl(PR_GET_NAME, name);
	printf("%s, user %d %d, group %d\n", name, getuid(), geteuid(), getgid());
	if (write(pipe_of_thread[1], "", 1) != 1)
		return 4;
	return pthread_join(thread, NULL);
}
