/* fstatat(2): AT_EMPTY_PATH, AT_FDCWD, AT_SYMLINK_NOFOLLOW; a directory descriptor counts for relative paths only. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/stat.h>

int main(void)
{
	struct stat status;
	struct statx extended;
	int dir, file, link;

	MUST(!mkdir("dir", 0700) && (file = open("dir/file", O_CREAT | O_RDWR, 0604)) >= 0);
	MUST(!symlink("file", "dir/link") && (dir = open("dir", O_RDONLY)) >= 0);
	SAY(fstatat(dir, "link", &status, 0));
	printf("%o\n", status.st_mode);
	SAY(fstatat(dir, "link", &status, AT_SYMLINK_NOFOLLOW));
	printf("%o %ld\n", status.st_mode, (long)status.st_size);
	SAY(fstatat(file, "", &status, AT_EMPTY_PATH));
	printf("%o\n", status.st_mode);
	SAY(fstatat(file, "", &status, 0));
	SAY(fstatat(AT_FDCWD, "", &status, AT_EMPTY_PATH));
	printf("%d\n", S_ISDIR(status.st_mode));
	SAY(fstatat(file, "x", &status, 0));
	SAY(fstatat(99, "x", &status, 0));
	SAY(fstatat(99, "/", &status, 0));
	SAY(fstatat(dir, "file", &status, 0x8000));
	MUST((link = openat(dir, "link", O_PATH | O_NOFOLLOW)) >= 0);
	SAY(fstatat(link, "", &status, AT_EMPTY_PATH));
	printf("%o\n", status.st_mode);
	SAY(statx(file, "", AT_EMPTY_PATH, STATX_SIZE | STATX_MODE, &extended));
	printf("%o %d\n", extended.stx_mode, (extended.stx_mask & STATX_SIZE) != 0);
	SAY(statx(dir, "link", AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC, STATX_TYPE, &extended));
	printf("%d\n", S_ISLNK(extended.stx_mode));
	SAY(statx(dir, "file", AT_STATX_DONT_SYNC | AT_STATX_FORCE_SYNC, STATX_ALL, &extended));
	SAY(statx(dir, "file", 0, 0x80000000, &extended));
	SAY(faccessat(dir, "link", W_OK, AT_SYMLINK_NOFOLLOW));
	SAY(fchmodat(dir, "file", 0600, AT_SYMLINK_NOFOLLOW));
	SAY(fchownat(dir, "link", -1, -1, AT_SYMLINK_NOFOLLOW));
	SAY(unlinkat(dir, "file", AT_REMOVEDIR));
	SAY(unlinkat(AT_FDCWD, "dir", 0));
	SAY(unlinkat(dir, "link", 0x1000));
	return 0;
}
