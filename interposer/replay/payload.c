#include "replay/payload.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "crossing/boundary.h"
#include "base/crc32c.h"
#include "base/private_file.h"

enum { ROOM = 1 << 20 };

static struct {
	int fd; /* read from; 0: not open yet */
	FILE *made;
	uint64_t written;
	char dir[4000];
	char room[ROOM];
} payload;

const struct rdb_note_payload *payload_of(const struct log_chunk *c)
{
	const bool is = !c->addr && c->note == RDB_NOTE_PAYLOAD && c->len == sizeof(struct rdb_note_payload);
	return is ? (const void *)(c + 1) : NULL;
}

/* ---- reading ---- */

static int open_once(void)
{
	char path[4096];
	if (payload.fd)
		return 0;
	snprintf(path, sizeof(path), "%s/" PAYLOAD_FILE, lower.opt.dir);
	int fd = lower_fd(open(path, O_RDONLY | O_CLOEXEC));
	if (fd < 0)
		return fd;
	payload.fd = fd;
	return 0;
}

const char *payload_apply(const struct rdb_note_payload *note)
{
	char *at = (char *)note->addr;
	if (open_once())
		return "the recording holds only the order of messages, not their contents: run rdb expand to "
		       "regenerate them";
	for (size_t done = 0; done < note->len;) {
		ssize_t n = pread(payload.fd, at + done, note->len - done, (off_t)(note->offset + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return "a message is missing in the file `payload` beside the log: remove the file, and run "
			       "rdb expand again";
		done += (size_t)n;
	}
	if (crc32c_data(0, at, note->len) != note->check)
		return "a message in the file `payload` beside the log differs from the recording: remove the file, "
		       "and run rdb expand again";
	return NULL;
}

/* ---- making it ---- */

static void name(char *path, size_t size, const char *suffix)
{
	snprintf(path, size, "%s/" PAYLOAD_FILE "%s", payload.dir, suffix);
}

int payload_create(const char *dir)
{
	char path[4096];
	snprintf(payload.dir, sizeof(payload.dir), "%s", dir);
	name(path, sizeof(path), ".new");
	int fd = private_create(AT_FDCWD, path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return fd;
	payload.made = fdopen(fd, "w");
	if (!payload.made)
		return -errno;
	setvbuf(payload.made, payload.room, _IOFBF, sizeof(payload.room));
	return 0;
}

int payload_append(const struct rdb_note_payload *note)
{
	const void *at = (const void *)note->addr;
	if (crc32c_data(0, at, note->len) != note->check || note->offset != payload.written)
		return -EBADMSG;
	if (fwrite(at, 1, note->len, payload.made) != note->len)
		return errno ? -errno : -EIO;
	payload.written += note->len;
	return 0;
}

int payload_publish(void)
{
	char from[4096], to[4096];
	if (!payload.made)
		return 0;
	if (fclose(payload.made)) /* without fsync(2): the hashes show what is lost later */
		return -errno;
	payload.made = NULL;
	name(from, sizeof(from), ".new");
	name(to, sizeof(to), "");
	return rename(from, to) ? -errno : 0;
}
