#include "replay/payload.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "crossing/boundary.h"
#include "base/crc32c.h"
#include "base/private_file.h"
#include "replay/ask.h"
#include "replay/deliver.h"
#include "space/sent.h"

enum { ROOM = 1 << 20 };

static struct {
	int fd, part, marks; /* read from; 0: not open yet */
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

uint64_t payload_address(const struct rdb_note_payload *note)
{
	return note->at & RDB_SENT_ADDRESS;
}

/* Are the bytes at `from` those of the note? */
static bool agrees(const struct rdb_note_payload *note, uint64_t from)
{
	struct rdb_note_sent span = {.at = from | (note->at & ~RDB_SENT_ADDRESS), .len = note->len};
	return sent_check(&span) && span.check == note->check;
}

static int open_beside(const char *dir, const char *file, int flags)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/%s", dir, file);
	if (flags & O_CREAT)
		return private_create(AT_FDCWD, path, flags);
	int fd = open(path, flags);
	return fd < 0 ? -errno : lower_fd(fd);
}

/* 0 or -errno; -ENODATA: the file is shorter. */
static int transfer(int fd, bool out, char *at, size_t len, uint64_t offset)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = out ? pwrite(fd, at + done, len - done, (off_t)(offset + done))
				: pread(fd, at + done, len - done, (off_t)(offset + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENODATA;
		done += (size_t)n;
	}
	return 0;
}

static uint64_t mark_offset(const struct rdb_note_payload *note)
{
	return note->offset / PAYLOAD_UNIT * sizeof(struct payload_mark);
}

/* ---- reading ---- */

static const char *apply_whole(const struct rdb_note_payload *note)
{
	if (transfer(payload.fd, false, (char *)payload_address(note), note->len, note->offset))
		return "a message is missing in the file `payload` beside the log: remove the file, and run "
		       "rdb expand again";
	if (!agrees(note, payload_address(note)))
		return "a message in the file `payload` beside the log differs from the recording: remove the file, "
		       "and run rdb expand again";
	return NULL;
}

/* 0; -ENOENT: the message is not there; -errno. */
static int apply_part(const struct rdb_note_payload *note)
{
	struct payload_mark mark = {0};
	char *at = (char *)payload_address(note);
	if (payload.marks <= 0)
		payload.marks = open_beside(lower.opt.dir, PAYLOAD_MARKS, O_RDONLY | O_CLOEXEC);
	if (payload.part <= 0)
		payload.part = open_beside(lower.opt.dir, PAYLOAD_PART, O_RDONLY | O_CLOEXEC);
	if (payload.marks < 0 || payload.part < 0)
		return payload.marks < 0 ? payload.marks : payload.part;
	int rc = transfer(payload.marks, false, (char *)&mark, sizeof(mark), mark_offset(note));
	if (rc == -ENODATA || (!rc && !mark.made))
		return -ENOENT;
	if (!rc)
		rc = transfer(payload.part, false, at, note->len, note->offset);
	if (rc)
		return rc;
	return agrees(note, (uint64_t)at) && (mark.made == 2 || crc32c_data(0, at, note->len) == mark.check) ? 0
													     : -ENOENT;
}

const char *payload_apply(const struct rdb_note_payload *note)
{
	const char *why = NULL;
	for (bool asked = false; !why; asked = true) {
		if (payload.fd <= 0)
			payload.fd = open_beside(lower.opt.dir, PAYLOAD_FILE, O_RDONLY | O_CLOEXEC);
		if (payload.fd > 0)
			return apply_whole(note);
		int rc = apply_part(note);
		if (!rc && lower.opt.deliver)
			deliver_goes_on();
		if (!rc)
			return NULL;
		if (rc != -ENOENT)
			return strerror(-rc);
		if (lower.opt.deliver)
			deliver_awaits();
		else
			why = asked ? "a large message could not be regenerated" : ask();
	}
	return why;
}

int payload_deliver(const char *dir, const struct rdb_note_payload *note, uint64_t from)
{
	if (!agrees(note, from))
		return -EBADMSG;
	struct payload_mark mark = {crc32c_data(0, (const void *)from, note->len), 1};
	int part = open_beside(dir, PAYLOAD_PART, O_WRONLY | O_CREAT | O_CLOEXEC), marks = -1;
	int rc = part < 0 ? part : transfer(part, true, (char *)from, note->len, note->offset);
	if (!rc) {
		marks = open_beside(dir, PAYLOAD_MARKS, O_WRONLY | O_CREAT | O_CLOEXEC);
		rc = marks < 0 ? marks : transfer(marks, true, (char *)&mark, sizeof(mark), mark_offset(note));
	}
	if (part >= 0)
		lower_fd_close(part);
	if (marks >= 0)
		lower_fd_close(marks);
	return rc;
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
	const void *at = (const void *)payload_address(note);
	if (!agrees(note, payload_address(note)) || note->offset != payload.written)
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
