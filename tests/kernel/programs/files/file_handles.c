/* name_to_handle_at(2): EOVERFLOW tells the size; the handle opens the file again, for those who may. */
#include "../observe.h"
#include <fcntl.h>

int main(void)
{
	struct {
		struct file_handle h;
		unsigned char room[MAX_HANDLE_SZ];
	} a = {.h.handle_bytes = 0}, b = {.h.handle_bytes = MAX_HANDLE_SZ};
	char text[8] = "";
	int mount = -7, other, fd, dir;

	MUST((fd = open("file", O_CREAT | O_RDWR, 0600)) >= 0 && write(fd, "text", 4) == 4 && !symlink("file", "link"));
	if (name_to_handle_at(AT_FDCWD, "file", &a.h, &mount, 0) < 0 && errno == EOPNOTSUPP)
		skip("file handles");
	printf("%d %d\n", a.h.handle_bytes > 0 && a.h.handle_bytes <= MAX_HANDLE_SZ, mount != -7);
	SAY(name_to_handle_at(AT_FDCWD, "file", &a.h, &mount, 0));
	SAY(name_to_handle_at(fd, "", &b.h, &other, AT_EMPTY_PATH));
	printf("the same: %d\n",
	       a.h.handle_bytes == b.h.handle_bytes && mount == other && !memcmp(a.room, b.room, a.h.handle_bytes));
	SAY(name_to_handle_at(AT_FDCWD, "link", &b.h, &other, 0));
	printf("the same: %d\n", !memcmp(a.room, b.room, a.h.handle_bytes));
	b.h.handle_bytes = MAX_HANDLE_SZ;
	SAY(name_to_handle_at(AT_FDCWD, "link", &b.h, &other, AT_SYMLINK_FOLLOW));
	printf("the same: %d\n", !memcmp(a.room, b.room, a.h.handle_bytes));
	SAY(name_to_handle_at(AT_FDCWD, "absent", &b.h, &other, 0));
	b.h.handle_bytes = MAX_HANDLE_SZ + 1;
	SAY(name_to_handle_at(AT_FDCWD, "file", &b.h, &other, 0));
	MUST((dir = open(".", O_RDONLY)) >= 0 && !rename("file", "moved"));
	int again = open_by_handle_at(dir, &a.h, O_RDONLY);
	printf("%s\n", again < 0 ? strerrorname_np(errno) : "opened");
	SAY(again < 0 ? 0 : read(again, text, sizeof text));
	MUST(!unlink("moved") && !close(fd));
	if (again >= 0)
		close(again);
	SAY(open_by_handle_at(dir, &a.h, O_RDONLY) < 0);
	SAY(open_by_handle_at(99, &a.h, O_RDONLY) < 0);
	return 0;
}
