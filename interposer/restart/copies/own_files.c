#include "restart/copies/own_files.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "restart/copies/given_files.h"
#include "restart/base/cut.h"
#include "restart/copies/mapped_files.h"
#include "restart/copies/own_attributes.h"
#include "restart/copies/own_table.h"
#include "restart/copies/written_copies.h"
#include "base/descriptors.h"
#include "base/pids.h"
#include "base/private_file.h"
#include "replay/replay.h"

static struct opened *same_path(const struct opened *f, const char *path)
{
	for (struct opened *o = open_table.opened; *path && o < open_table.opened + OPENED; o++)
		if (o != f && o->kind == FILE_WRITTEN && !strcmp(o->path, path))
			return o;
	return NULL;
}

static bool opened_again(struct opened *f, const struct rdb_note_opened *note)
{
	const struct opened *other = same_path(f, f->path);
	const int mapped = mapped_file_copy(f->path);
	struct own *left = own_find(f->path);
	struct stat st;
	if (other) {
		f->copy = lower_fd(dup(other->copy));
		memcpy(f->why, other->why, sizeof(f->why));
		f->inherited = other->inherited;
		if (tree() && other->shared)
			own_several(f);
	} else if (mapped >= 0) {
		f->copy = lower_fd(dup(mapped));
	} else if (left) {
		const bool as_left = !(f->flags & O_EXCL) && stat(left->place, &st) == 0 &&
				     (f->flags & O_TRUNC || (note && note->size == (uint64_t)st.st_size));
		if (!as_left) { /* another process has written to it, or it is a new one */
			own_drop(left);
			return false;
		}
		f->copy = lower_fd(descriptor_open(AT_FDCWD, left->place, O_RDWR, 0));
		if (!left->whole)
			snprintf(f->why, sizeof(f->why), "its earlier content is not known");
		own_leave(left);
	} else {
		return false;
	}
	if (f->copy < 0)
		live_refuse("%s: its copy cannot be opened again: %s", f->path, strerror(-f->copy));
	return true;
}

bool own_twice(const struct opened *f)
{
	return same_path(f, f->path) != NULL;
}

void own_several(struct opened *f)
{
	for (struct opened *o = open_table.opened; o < open_table.opened + OPENED; o++)
		if (o->kind == FILE_WRITTEN && !strcmp(o->path, f->path))
			o->several = true;
}

void own_opened(struct opened *f, const struct rdb_note_opened *note)
{
	const bool again = opened_again(f, note);
	size_t len = 0;
	const struct rdb_note_attributes *is = log_note(replay_record(), RDB_NOTE_ATTRIBUTES, &len);
	if (is && len >= sizeof(*is)) {
		f->dev = is->dev;
		f->ino = is->ino;
	}
	if (!again) {
		copy_new(f);
		copy_fill_before(f, note);
		own_attributes_opened(f);
	} else if (f->flags & O_TRUNC) {
		if (ftruncate(f->copy, 0))
			live_refuse("%s: its copy cannot be truncated: %s", f->path, strerror(errno));
		own_attributes_written(f->copy);
		for (struct opened *o = open_table.opened; o < open_table.opened + OPENED; o++)
			if (o->kind == FILE_WRITTEN && !strcmp(o->path, f->path))
				*o->why = 0;
	}
}

void own_closed(const struct opened *f)
{
	char place[LONGEST];
	const bool others = tree() && pids()->n > 1;
	if (lower.opt.in_place || others || same_path(f, f->path) || mapped_file_copy(f->path) >= 0)
		return;
	copy_where(f->copy, place);
	if (*f->path && !f->inherited) /* for an inherited file the recording has kept the content (kept_left.c) */
		own_new(f->path, place, !*f->why, true);
	else
		unlink(place);
}

void own_forked(void)
{
	for (struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++)
		f->inherited |= f->kind == FILE_WRITTEN;
}

/* True: PATH is the renamed file, or lies in the renamed directory; NOW is its new name. */
static bool renamed(const char *path, const char *from, const char *to, char *now)
{
	const size_t len = strlen(from);
	if (strncmp(path, from, len) || (path[len] && path[len] != '/'))
		return false;
	return snprintf(now, LONGEST, "%s%s", to, path + len) < LONGEST;
}

void own_renamed(const char *from, const char *to)
{
	char now[LONGEST];
	own_unlinked(to);
	for (struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++)
		if ((f->kind == FILE_WRITTEN || f->kind == FILE_READ) && renamed(f->path, from, to, now))
			strcpy(f->path, now);
	for (struct own *o = own_table.file; o < own_table.file + own_table.n; o++)
		if (o->path && renamed(o->path, from, to, now))
			own_name(o, now);
}

void own_unlinked(const char *path)
{
	struct own *left = own_find(path);
	if (left)
		own_drop(left);
	for (struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++) {
		if (strcmp(f->path, path))
			continue;
		if (f->kind == FILE_READ)
			snprintf(f->why, sizeof(f->why), "it was deleted, or another file took its name");
		else if (f->kind == FILE_WRITTEN)
			*f->path = 0;
	}
}

void own_linked(const char *path, const char *also)
{
	char place[LONGEST], new_place[LONGEST];
	const struct own *left = own_find(path);
	const struct opened *f = same_path(NULL, path);
	if (lower.opt.in_place || tree() || (!left && !f))
		return;
	if (f)
		copy_where(f->copy, place);
	else
		snprintf(place, sizeof(place), "%s", left->place);
	copy_place(new_place, sizeof(new_place), also);
	if (!link(place, new_place))
		own_new(also, new_place, f ? !*f->why : left->whole, true);
}

static bool same_content(const char *one, const char *other)
{
	static char a[65536], b[sizeof(a)];
	struct stat st, su;
	int fd = descriptor_open(AT_FDCWD, one, O_RDONLY, 0), ge = descriptor_open(AT_FDCWD, other, O_RDONLY, 0);
	bool same = fd >= 0 && ge >= 0 && !fstat(fd, &st) && !fstat(ge, &su) && st.st_size == su.st_size;
	for (off_t at = 0; same && at < st.st_size; at += (off_t)sizeof(a)) {
		ssize_t n = pread(fd, a, sizeof(a), at);
		same = n > 0 && n == pread(ge, b, sizeof(b), at) && !memcmp(a, b, (size_t)n);
	}
	close(fd);
	close(ge);
	return same;
}

static void keep(unsigned number, const char *place)
{
	char path[LONGEST + 32];
	struct stat st;
	snprintf(path, sizeof(path), "%s/was-own-%u", lower.opt.branch, number);
	if (stat(place, &st))
		live_refuse("%s: %s", place, strerror(errno));
	copy_keep(path, place, (uint64_t)st.st_size);
}

/* Puts the copy where all processes find it. */
static void give(const struct opened *f, const char *from, const char *place)
{
	struct stat given, had;
	if (!strcmp(from, place))
		return;
	if (stat(place, &given)) {
		if (rename(from, place) && stat(place, &given)) /* another process with the file was faster */
			live_refuse("%s: %s", place, strerror(errno));
	} else if (!fstat(f->copy, &had) && had.st_ino != given.st_ino && tree()) {
		rdb_warn("%s: several processes have it open, each by itself: each goes on with its own writes only",
			 f->path);
	}
}

/* Puts a file that the program had left where all ranks find it. */
static void put_left(struct own *o)
{
	if (!o->target)
		return;
	if (rename(o->place, o->target))
		live_refuse("%s: %s", o->target, strerror(errno));
	own_moved(o);
	o->put = true;
	given_put(o->path);
}

void own_at_cut(void)
{
	char path[LONGEST + 32];
	unsigned kept = 0;
	int fd = -1;
	for (struct own *o = own_table.file; o < own_table.file + own_table.n; o++) {
		if (!o->path || !o->left)
			continue;
		if (!o->whole || strchr(o->path, '\n') ||
		    (same_content(o->place, o->path) && !own_attributes_differ(o->place, o->path))) {
			own_drop(o);
			continue;
		}
		if (fd < 0) {
			snprintf(path, sizeof(path), "%s/own-files", lower.opt.branch);
			fd = private_create(AT_FDCWD, path, O_WRONLY | O_EXCL);
		}
		if (dprintf(fd, "%s\n", o->path) < 0)
			live_refuse("%s/own-files: %s", lower.opt.branch, strerror(errno));
		keep(kept++, o->place);
		put_left(o);
	}
	if (fd >= 0)
		close(fd);
	for (const struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++) {
		char place[LONGEST];
		if (lower.opt.in_place || f->kind != FILE_WRITTEN || !*f->path)
			continue;
		copy_where(f->copy, place);
		const struct own *own = own_find(f->path);
		if (own) {
			give(f, place, own->place);
			given_put(f->path);
		} else {
			own_add(f->path, place);
		}
	}
	given_meet();
}

void own_add(const char *path, const char *place)
{
	if (!own_find(path))
		own_new(path, place, true, false);
}

void own_given(const char *path, const char *place)
{
	struct own *left = own_find(path);
	if (left && left->left)
		own_target(left, place);
	else if (!left)
		own_new(path, place, true, false)->given = true;
}

void own_forget(const char *path)
{
	struct own *left = own_find(path);
	if (left && left->left)
		own_drop(left);
}

void own_load(void)
{
	char path[LONGEST + 32], line[LONGEST];
	struct stat st;
	snprintf(path, sizeof(path), "%s/own-files", lower.opt.restart);
	int fd = descriptor_open(AT_FDCWD, path, O_RDONLY, 0);
	FILE *lines = fd < 0 ? NULL : fdopen(fd, "r");
	for (unsigned number = 0; lines && fgets(line, sizeof(line), lines); number++) {
		struct opened one = {.kind = FILE_WRITTEN};
		char place[LONGEST];
		line[strcspn(line, "\n")] = 0;
		snprintf(one.path, sizeof(one.path), "%s", line);
		snprintf(path, sizeof(path), "%s/was-own-%u", lower.opt.restart, number);
		if (stat(path, &st))
			live_refuse("%s: %s", path, strerror(errno));
		copy_new(&one);
		copy_fill(path, &one, (uint64_t)st.st_size);
		own_attributes_as(path, one.copy);
		copy_where(one.copy, place);
		own_new(one.path, place, true, true);
		lower_fd_close(one.copy);
	}
	if (lines)
		fclose(lines);
}
