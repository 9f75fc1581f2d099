#include "answer/open_notes.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "interface/host.h"
#include "task/file_readers.h"

enum { TEXT = 1024 };

/* The length, or 0 if it is too long. */
static size_t name_of(int fd, char *out)
{
	char link[32];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	const ssize_t len = readlink(link, out, TEXT);
	return len < 0 || len == TEXT ? 0 : (size_t)len;
}

static void note_file(struct event *ev, const struct stat *st)
{
	struct {
		struct rdb_note_opened head;
		char path[TEXT];
	} note;
	const size_t len = name_of((int)ev->result, note.path);
	note.head = (struct rdb_note_opened){.size = (uint64_t)st->st_size};
	file_readers_stop(st);
	event_note(ev, RDB_NOTE_OPENED, &note, sizeof(note.head) + len);
}

static void note_pipe(struct event *ev, const struct stat *st, const char *asked)
{
	struct {
		struct rdb_note_pipe head;
		char path[TEXT];
	} note;
	size_t len = name_of((int)ev->result, note.path);
	note.head = (struct rdb_note_pipe){.dev = st->st_dev, .ino = st->st_ino, .named = len && *note.path == '/'};
	if (!note.head.named) {
		len = strnlen(asked, TEXT);
		memcpy(note.path, asked, len);
	}
	event_note(ev, RDB_NOTE_PIPE, &note, sizeof(note.head) + len);
}

void open_notes(struct event *ev)
{
	struct stat st;
	const bool at = ev->nr == SYS_openat, creat = ev->nr == SYS_creat;
	if ((!at && !creat && ev->nr != SYS_open) || ev->result < 0 || fstat((int)ev->result, &st))
		return;
	if (S_ISFIFO(st.st_mode))
		note_pipe(ev, &st, (const char *)ev->args[at]);
	else if (S_ISREG(st.st_mode) && (creat || (ev->args[1 + at] & O_ACCMODE) != O_RDONLY))
		note_file(ev, &st);
}
