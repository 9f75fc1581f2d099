/* mount(2): a tmpfs of one's own, bind mounts, read-only remounts, EBUSY, and mountinfo. */
#include "../observe.h"
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>

static int listed(const char *name)
{
	static char line[8192];
	int found = 0;
	FILE *file = fopen("/proc/self/mountinfo", "r");

	MUST(file);
	while (fgets(line, sizeof line, file))
		found += strstr(line, name) != NULL;
	fclose(file);
	return found;
}

int main(void)
{
	struct statfs fs;
	struct stat a, b;
	int fd;

	char map[32];
	const unsigned user = geteuid(), group = getegid();

	if (unshare(user ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		skip("mounts of its own");
	if (user) {
		const int length = snprintf(map, sizeof map, "0 %u 1", user);
		const int users = open("/proc/self/uid_map", O_WRONLY), groups = open("/proc/self/setgroups", O_WRONLY);
		MUST(write(users, map, (size_t)length) == length && write(groups, "deny", 4) == 4);
		MUST(write(open("/proc/self/gid_map", O_WRONLY), map,
			   (size_t)snprintf(map, sizeof map, "0 %u 1", group)) > 0);
	}
	MUST(!mkdir("place", 0755) && !mkdir("other", 0755));
	SAY(mount("mine", "place", "tmpfs", MS_NOSUID | MS_NODEV, "size=64k,mode=750"));
	SAY(listed("/place "));
	MUST(!stat("place", &a) && !statfs("place", &fs));
	printf("%o, %lx, nosuid %d\n", a.st_mode & 07777, (long)fs.f_type, (fs.f_flags & 2 /* ST_NOSUID */) != 0);
	MUST((fd = open("place/file", O_CREAT | O_RDWR, 0600)) >= 0);
	SAY(ftruncate(fd, 1 << 20));
	SAY(fallocate(fd, 0, 0, 1 << 20));
	SAY(link("place/file", "outside"));
	SAY(rename("place/file", "outside"));
	SAY(rmdir("place"));
	SAY(umount2("place", 0));
	SAY(mount("place", "other", NULL, MS_BIND, NULL));
	MUST(!stat("place/file", &a) && !stat("other/file", &b));
	printf("the same: %d\n", a.st_ino == b.st_ino && a.st_dev == b.st_dev);
	SAY(mount(NULL, "other", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL));
	SAY(open("other/file", O_WRONLY));
	SAY(unlink("other/file"));
	SAY(unlink("place/file"));
	SAY(umount2("other", MNT_DETACH));
	SAY(listed("/other "));
	SAY(close(fd));
	SAY(umount2("place", UMOUNT_NOFOLLOW));
	SAY(umount2("place", 0));
	SAY(mount("x", "place", "no such file system", 0, NULL));
	SAY(mount("x", "absent", "tmpfs", 0, NULL));
	SAY(listed("/place "));
	return 0;
}
