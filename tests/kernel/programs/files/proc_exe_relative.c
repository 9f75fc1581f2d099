/* proc(5), /proc/pid/exe: calls that follow the link get the program's file also where the path begins in the folder. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/xattr.h>

int main(int argc, char **argv)
{
	struct stat program, found;
	char buf[512];
	int watch = inotify_init1(IN_NONBLOCK), folder;

	MUST(argc == 1 && watch >= 0 && !stat(argv[0], &program) && !chdir("/proc/self"));
	MUST((folder = open(".", O_PATH | O_DIRECTORY)) >= 0);
	MUST(!stat("exe", &found));
	printf("stat: the program's %d\n", found.st_ino == program.st_ino);
	MUST(!fstatat(folder, "exe", &found, 0));
	printf("fstatat: the program's %d\n", found.st_ino == program.st_ino);
	MUST(!fstatat(folder, "exe", &found, AT_SYMLINK_NOFOLLOW));
	printf("fstatat: a link %d\n", S_ISLNK(found.st_mode));
	SAY(getxattr("exe", "user.none", buf, sizeof(buf)));
	OK(inotify_add_watch(watch, "exe", IN_ATTRIB));
	SAY(chmod(argv[0], program.st_mode & 07777));
	printf("told of the program's change: %d\n", read(watch, buf, sizeof(buf)) > 0);
	return 0;
}
