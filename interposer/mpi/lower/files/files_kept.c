/* Contents of MPI files before this job wrote to them.  A restart needs the files as they were at its cut; it gets them
 * from these contents and the writes in the logs. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/private.h"
#include "lower/files/files.h"
#include "base/copy_bytes.h"
#include "lower/objects/real.h"

/* At most so many bytes are copied if the file system cannot share them. */
#define LARGEST (1ull << 30)

/* Files that this rank has written to. */
static struct known {
	struct known *next;
	char *path;
	unsigned open;
	struct stat left; /* when it was closed */
} * known;

static unsigned kept;

/* The folder of this recording; before a restart goes on live, host->dir is that of the earlier recording. */
const char *file_folder(void)
{
	return host->branch ? host->branch : host->dir;
}

int file_copy(const char *from, const char *to)
{
	struct stat st;
	int in = open(from, O_RDONLY | O_CLOEXEC), out;
	int64_t rc;

	if (in < 0)
		return -errno;
	out = private_open(AT_FDCWD, to, O_RDWR | O_TRUNC);
	rc = out < 0 ? out : fstat(in, &st) ? -errno : copy_bytes(in, out, (uint64_t)st.st_size);
	if (rc >= 0)
		rc = rc < st.st_size ? -EIO : 0;
	if (out >= 0 && close(out) && !rc)
		rc = -errno;
	close(in);
	return (int)rc;
}

static struct known *known_as(const char *path)
{
	struct known *one = known;

	while (one && strcmp(one->path, path) != 0)
		one = one->next;
	return one;
}

static bool same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static bool keep(const char *path, const struct stat *st, uint32_t number)
{
	char copy[FILE_PATH + 64];
	int probe, rc;

	snprintf(copy, sizeof(copy), "%s/mpi-file-%u", file_folder(), number);
	if ((uint64_t)st->st_size > LARGEST) {
		/* only if the file system can share the bytes */
		int in = open(path, O_RDONLY | O_CLOEXEC);

		probe = private_open(AT_FDCWD, copy, O_RDWR | O_TRUNC);
		rc = in >= 0 && probe >= 0 && ioctl(probe, FICLONE, in) == 0 ? 0 : -EFBIG;
		if (in >= 0)
			close(in);
		if (probe >= 0)
			close(probe);
	} else {
		rc = file_copy(path, copy);
	}
	if (rc)
		unlink(copy);
	else
		host->whole(copy);
	return rc == 0;
}

void file_was(const char *path, struct rdb_note_mpi_file *was)
{
	const struct known *one = known_as(path);
	const char *place = file_place(path);
	struct stat st;

	if (stat(place, &st)) {
		was->was = errno == ENOENT ? RDB_FILE_ABSENT : RDB_FILE_LOST;
		return;
	}
	was->size = (uint64_t)st.st_size;
	if (one && (one->open || same(&one->left, &st))) {
		was->was = RDB_FILE_SAME;
		return;
	}
	was->number = kept++;
	was->was = S_ISREG(st.st_mode) && keep(place, &st, was->number) ? RDB_FILE_KEPT : RDB_FILE_LOST;
}

void file_written_from(const char *path)
{
	struct known *one = known_as(path);

	if (!one) {
		one = needed(calloc(1, sizeof(*one)));
		one->path = needed(strdup(path));
		one->next = known;
		known = one;
	}
	one->open++;
}

void file_written_until(const char *path)
{
	struct known *one = known_as(path);

	if (one && one->open)
		one->open--;
	if (one && stat(file_place(path), &one->left))
		memset(&one->left, 0, sizeof(one->left));
}

bool file_left(unsigned i, const char **path, struct stat *left)
{
	const struct known *one = known;

	while (one && i--)
		one = one->next;
	if (!one)
		return false;
	*path = one->open ? NULL : one->path;
	*left = one->left;
	return true;
}

/* ---- files that were closed at the checkpoint from which a branch goes on ---- */

static struct closed {
	struct closed *next;
	char *path;
	struct stat was;
} * closed;

void file_was_closed(const char *path, const struct stat *was)
{
	struct closed *one = needed(calloc(1, sizeof(*one)));

	*one = (struct closed){closed, needed(strdup(path)), *was};
	closed = one;
}

void file_seen(const char *path)
{
	struct closed **at = &closed, *one;
	struct stat st;

	while (*at && strcmp((*at)->path, path) != 0)
		at = &(*at)->next;
	one = *at;
	if (!one)
		return;
	if (file_place(path) == path &&
	    (stat(path, &st) || st.st_size != one->was.st_size || st.st_mtim.tv_sec != one->was.st_mtim.tv_sec ||
	     st.st_mtim.tv_nsec != one->was.st_mtim.tv_nsec))
		host->warn("%s, which the program had closed, has changed since the checkpoint: the program sees its "
			   "current content",
			   path);
	*at = one->next;
	free(one->path);
	free(one);
}

/* ---- shared file pointers ---- */

static int turns(void)
{
	static int lock = -1;
	char path[FILE_PATH + 64];

	if (lock >= 0)
		return lock;
	snprintf(path, sizeof(path), "%s/../mpi-files.lock", file_folder());
	lock = private_open(AT_FDCWD, path, O_RDWR);
	if (lock >= 0)
		lock = host->keep_descriptor(lock);
	return lock;
}

/* The lock makes the noted position that of this call.  Without it another rank may move the pointer in between. */
void file_turn_begin(struct file_turn *turn, const struct vfile *file)
{
	MPI_Offset at = -1;

	turn->position = -1;
	turn->lock = -1;
	if (!host->recording() || !file->o.real)
		return;
	turn->lock = turns();
	if (turn->lock >= 0)
		BLOCKING(flock(turn->lock, LOCK_EX));
	if (PMPI_File_get_position_shared(REAL(MPI_File, file->o.real), &at) == MPI_SUCCESS)
		turn->position = at;
}

void file_turn_end(struct file_turn *turn)
{
	struct timespec ts;
	struct rdb_note_file_turn note = {.position = turn->position};

	if (!host->recording())
		return;
	clock_gettime(CLOCK_REALTIME, &ts);
	note.at_ns = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	if (turn->lock >= 0)
		flock(turn->lock, LOCK_UN);
	host->note(RDB_NOTE_FILE_TURN, &note, sizeof(note));
}
