/* proc_pid_exe(5): calls that follow the link are about the program's own file; lstat sees the link. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>

int main(int count, char **arguments)
{
	struct stat named, linked;
	struct statx extended;
	struct statfs fs;
	char path[64], text[64];

	(void)count;
	snprintf(path, sizeof path, "/proc/%d/exe", getpid());
	const char *names[] = {"/proc/self/exe", "/proc/thread-self/exe", path};
	MUST(!stat(arguments[0], &named));
	for (int i = 0; i < 3; i++) {
		MUST(!stat(names[i], &linked));
		printf("the same: %d\n", linked.st_ino == named.st_ino && linked.st_size == named.st_size);
		MUST(!fstatat(AT_FDCWD, names[i], &linked, 0));
		printf("the same: %d\n", linked.st_ino == named.st_ino && linked.st_mode == named.st_mode);
		MUST(!statx(AT_FDCWD, names[i], 0, STATX_INO, &extended));
		printf("the same: %d\n", extended.stx_ino == named.st_ino);
		MUST(!lstat(names[i], &linked));
		printf("%o, %ld\n", linked.st_mode, (long)linked.st_size);
		MUST(!statfs(names[i], &fs));
		printf("proc: %d\n", fs.f_type == 0x9fa0);
	}
	SAY(open("/proc/self/exe", O_RDONLY | O_NOFOLLOW));
	SAY(open("/proc/self/exe", O_RDONLY | O_DIRECTORY));
	SAY(readlink("/proc/self/exe", text, 1));
	SAY(chmod(arguments[0], 0711));
	SAY(access("/proc/self/exe", X_OK));
	SAY(chmod("/proc/self/exe", 0750));
	MUST(!stat(arguments[0], &named));
	printf("%o\n", named.st_mode & 07777);
	return 0;
}
