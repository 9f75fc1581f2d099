/* fsync(2): sync_file_range(2), posix_fadvise(2), readahead(2): which descriptors they take. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/socket.h>

int main(void)
{
	int fd, reading, two[2], pair[2];

	MUST((fd = open("file", O_CREAT | O_RDWR | O_SYNC, 0600)) >= 0 && (reading = open("file", O_RDONLY)) >= 0);
	MUST(!pipe(two) && !socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	SAY(write(fd, "synced", 6));
	SAY(fsync(fd));
	SAY(fdatasync(reading));
	SAY(fsync(open(".", O_RDONLY)));
	SAY(fsync(two[0]));
	SAY(fdatasync(pair[0]));
	SAY(fsync(99));
	SAY(syncfs(reading));
	SAY(syncfs(99));
	SAY(sync_file_range(reading, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE));
	SAY(sync_file_range(reading, -1, 0, SYNC_FILE_RANGE_WRITE));
	SAY(sync_file_range(reading, 0, 0, 8));
	SAY(sync_file_range(two[1], 0, 0, SYNC_FILE_RANGE_WRITE));
	SAY(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
	SAY(posix_fadvise(fd, 0, 0, 99));
	SAY(posix_fadvise(fd, 0, -1, POSIX_FADV_NORMAL));
	SAY(posix_fadvise(two[0], 0, 0, POSIX_FADV_NORMAL));
	SAY(posix_fadvise(99, 0, 0, POSIX_FADV_NORMAL));
	SAY(readahead(reading, 0, 100));
	SAY(readahead(two[0], 0, 100));
	SAY(readahead(99, 0, 100));
	printf("%d\n", (fcntl(fd, F_GETFL) & O_SYNC) == O_SYNC);
	return 0;
}
