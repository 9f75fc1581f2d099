/* inode(7): in a sticky folder others cannot remove; a set-group-ID folder hands its group to what is made in it. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void other(void)
{
	int status;

	fflush(stdout);
	if (!fork()) {
		MUST(!setgid(65534) && !setuid(65534));
		SAY(unlink("sticky/mine"));
		SAY(rename("sticky/mine", "sticky/yours"));
		SAY(unlink("sticky/absent"));
		SAY(close(open("sticky/own", O_CREAT | O_WRONLY, 0600)));
		SAY(unlink("sticky/own"));
		SAY(chmod("sticky/mine", 0777));
		SAY(utimensat(AT_FDCWD, "sticky/mine", NULL, 0));
		_exit(0);
	}
	MUST(wait(&status) > 0);
}

int main(void)
{
	struct stat s;

	umask(0);
	MUST(!mkdir("sticky", 0777) && !chmod("sticky", 01777) && !mkdir("group", 0700));
	MUST(!close(open("sticky/mine", O_CREAT | O_WRONLY, 0600)));
	if (!geteuid()) {
		MUST(!chmod(".", 0755));
		other();
		MUST(!chown("group", -1, 4711));
	}
	MUST(!chmod("group", 02700) && !mkdir("group/dir", 0700) && !stat("group", &s));
	const gid_t group = s.st_gid;
	MUST(!close(open("group/file", O_CREAT | O_WRONLY, 0600)));
	MUST(!stat("group/dir", &s));
	printf("%o, the group's: %d\n", s.st_mode & 07777, s.st_gid == group);
	MUST(!stat("group/file", &s));
	printf("%o, the group's: %d\n", s.st_mode & 07777, s.st_gid == group);
	return 0;
}
