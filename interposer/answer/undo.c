#include "answer/undo.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "answer/attributes.h"
#include "answer/kept_files.h"
#include "answer/other_names.h"
#include "base/crc32c.h"
#include "base/fnv.h"
#include "base/lower.h"
#include "base/monotonic.h"
#include "base/private_file.h"

#define A(i) (ev->args[i])

uint64_t (*undo_checkpoint)(void);

/* What is known of a name or of an inode; each is a hash with one of these in it. */
enum fact { NOTED = 1, NEW, APPENDED, ATTRIBUTES };

static struct {
	uint32_t lock;   /* process that holds it; 0: none */
	uint64_t about;  /* the checkpoint that all this is about */
	uint64_t *facts; /* open addressing; 0: free */
	size_t room, used;
	uint32_t seq, kept;
	bool failed; /* said that something could not be noted */
} undo;

/* A forked child may find the lock held by a thread that it does not have. */
static void lock(void)
{
	const uint32_t mine = (uint32_t)lower.pid;
	for (;;) {
		uint32_t had = 0;
		if (__atomic_compare_exchange_n(&undo.lock, &had, mine, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			return;
		if (had != mine &&
		    __atomic_compare_exchange_n(&undo.lock, &had, mine, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			return;
		sched_yield();
	}
}

static void unlock(void)
{
	__atomic_store_n(&undo.lock, 0, __ATOMIC_SEQ_CST);
}

static uint64_t mixed(uint64_t x) /* the finalizer of MurmurHash3 */
{
	x = (x ^ x >> 33) * 0xff51afd7ed558ccdull;
	x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ull;
	return x ^ x >> 33;
}

static uint64_t of_name(const char *path)
{
	return mixed(fnv1a(FNV_BEGIN, path, strlen(path)) + NOTED) | 1;
}

static uint64_t of_inode(uint64_t dev, uint64_t ino, enum fact fact)
{
	return mixed(mixed(dev + fact) ^ ino) | 1;
}

static size_t slot(const uint64_t *facts, size_t room, uint64_t fact)
{
	size_t at = (fact >> 1) & (room - 1);
	while (facts[at] && facts[at] != fact)
		at = (at + 1) & (room - 1);
	return at;
}

static bool known(uint64_t fact)
{
	return undo.room && undo.facts[slot(undo.facts, undo.room, fact)];
}

/* What does not fit is noted once more than necessary. */
static void learn(uint64_t fact)
{
	if (undo.used * 2 >= undo.room) {
		const size_t room = undo.room ? undo.room * 2 : 1 << 12;
		uint64_t *more = mmap(NULL, room * sizeof(*more), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				      -1, 0);
		if (more == MAP_FAILED)
			return;
		for (size_t i = 0; i < undo.room; i++)
			if (undo.facts[i])
				more[slot(more, room, undo.facts[i])] = undo.facts[i];
		if (undo.facts)
			munmap(undo.facts, undo.room * sizeof(*more));
		undo.facts = more;
		undo.room = room;
	}
	const size_t at = slot(undo.facts, undo.room, fact);
	undo.used += !undo.facts[at];
	undo.facts[at] = fact;
}

/* Forgets what was noted about the time before the newest checkpoint. */
static void lock_now(void)
{
	const uint64_t about = undo_checkpoint();
	lock();
	if (about == undo.about)
		return;
	undo.about = about;
	if (undo.facts)
		munmap(undo.facts, undo.room * sizeof(*undo.facts));
	undo.facts = NULL;
	undo.room = undo.used = 0;
}

bool undo_follows(void)
{
	return undo_checkpoint && passing() && lower.started && (undo_checkpoint() || lower.opt.undo);
}

static bool inode_known(const struct stat *st, enum fact fact)
{
	lock_now();
	const bool found = known(of_inode(st->st_dev, st->st_ino, fact));
	unlock();
	return found;
}

/* What is kept of a file with several names is noted by each of them. */
static uint64_t of_file(uint64_t dev, uint64_t ino, const char *place)
{
	return of_inode(dev ^ of_name(place), ino, NEW);
}

bool undo_is_new(const struct stat *st, const char *place)
{
	lock_now();
	const bool found = known(of_inode(st->st_dev, st->st_ino, NEW)) ||
			   (st->st_nlink > 1 && known(of_file(st->st_dev, st->st_ino, place)));
	unlock();
	return found;
}

bool undo_has_appended(const struct stat *st)
{
	return inode_known(st, APPENDED);
}

/* The directory of the present time; it is made if it is missing.  0 or -errno. */
static int directory(char *out, size_t size)
{
	if ((size_t)snprintf(out, size, "%s/undo-%lu", lower.opt.dir, (unsigned long)undo_checkpoint()) >= size)
		return -ENAMETOOLONG;
	return private_mkdir(out);
}

/* A restart says it, too: by an empty file, which a full disk still takes. */
static void cannot(const char *what, int rc)
{
	static uint64_t marked;
	const uint64_t about = undo_checkpoint() + 1;
	char path[4096];
	if (__atomic_exchange_n(&marked, about, __ATOMIC_RELAXED) != about &&
	    (size_t)snprintf(path, sizeof(path), "%s/unnoted-%lu", lower.opt.dir, (unsigned long)about - 1) <
		    sizeof(path)) {
		const int fd = private_create(AT_FDCWD, path, O_WRONLY | O_CLOEXEC);
		if (fd >= 0)
			close(fd);
	}
	if (!__atomic_exchange_n(&undo.failed, true, __ATOMIC_RELAXED))
		rdb_warn("%s: what the program changes in files after checkpoint %lu cannot be noted: %s; a restart "
			 "from there or from an earlier one finds these files as they are then",
			 what, (unsigned long)undo_checkpoint(), strerror(-rc));
}

void undo_kept_name(char *out, size_t size, uint32_t *number)
{
	char dir[4096];
	const int rc = directory(dir, sizeof(dir));
	if (rc)
		cannot(lower.opt.dir, rc);
	do { /* after execve(2) the numbers begin anew */
		*number = __atomic_fetch_add(&undo.kept, 1, __ATOMIC_RELAXED);
		snprintf(out, size, "%s/before-%d-%u", dir, lower.pid, *number);
	} while (!access(out, F_OK));
}

struct built {
	uint32_t len;
	union {
		struct undo_record head;
		uint8_t bytes[sizeof(struct undo_record) + sizeof(struct kept) + sizeof(struct attributes) + 64];
	} u;
};

static void add_note(struct built *b, uint32_t note, const void *data, size_t len)
{
	const struct undo_note head = {.note = note, .bytes = (uint32_t)len};
	memcpy(b->u.bytes + b->len, &head, sizeof(head));
	memcpy(b->u.bytes + b->len + sizeof(head), data, len);
	b->len += (uint32_t)(sizeof(head) + ((len + 7) & ~7ul));
}

/* One write(2) a record: whoever reads finds whole ones, but for the last of a process that was killed. */
static void append(struct built *b, enum undo_kind kind, uint32_t seq)
{
	char dir[4096], path[4096 + 32];
	struct undo_record *head = &b->u.head;
	head->magic = UNDO_MAGIC;
	head->bytes = b->len;
	head->kind = (uint16_t)kind;
	head->seq = seq;
	head->at_ns = clock_ns(CLOCK_REALTIME);
	head->check = 0;
	head->check = crc32c(0, b->u.bytes, b->len);
	int rc = directory(dir, sizeof(dir));
	snprintf(path, sizeof(path), "%s/journal-%d", dir, lower.pid);
	const int fd = rc ? rc : private_create(AT_FDCWD, path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd >= 0) {
		const ssize_t n = write(fd, b->u.bytes, b->len);
		rc = n == (ssize_t)b->len ? 0 : n < 0 ? -errno : -ENOSPC;
		close(fd);
	} else {
		rc = fd;
	}
	if (rc)
		cannot(path, rc);
}

static bool opens(const struct event *ev)
{
	return ev->nr == SYS_open || ev->nr == SYS_openat || ev->nr == SYS_creat;
}

static uint32_t flags_of(const struct event *ev)
{
	switch (ev->nr) {
	case SYS_open: return (uint32_t)A(1);
	case SYS_openat: return (uint32_t)A(2);
	case SYS_creat: return O_CREAT | O_WRONLY | O_TRUNC;
	case SYS_renameat2: return (uint32_t)A(4);
	default: return 0;
	}
}

static bool renames(uint32_t nr)
{
	return nr == SYS_rename || nr == SYS_renameat || nr == SYS_renameat2;
}

static bool has_two(uint32_t nr)
{
	return renames(nr) || nr == SYS_link || nr == SYS_linkat;
}

/* What is renamed may be a directory, and then all names below it change. */
static bool moves_many(const struct event *ev, const char *from)
{
	struct stat st;
	return renames(ev->nr) && (lstat(from, &st) || S_ISDIR(st.st_mode) || flags_of(ev) & RENAME_EXCHANGE);
}

/* Call with the lock held. */
static bool names_noted(const struct event *ev, const struct kept *k)
{
	const char *first = k->note.text, *second = first + strlen(first) + 1;
	return known(of_name(first)) && (!renames(ev->nr) || known(of_name(second)));
}

static void note_names(const struct event *ev, const struct kept *k)
{
	const char *first = k->note.text, *second = first + strlen(first) + 1;
	learn(of_name(first));
	if (has_two(ev->nr))
		learn(of_name(second));
}

/* Must what the call does to names and contents be noted? */
static bool needed(const struct event *ev, const struct kept *k)
{
	if (!k->any || !k->len)
		return false;
	const char *first = k->note.text;
	if (moves_many(ev, first + strlen(first) + 1))
		return true;
	const bool destroys = k->note.head.was == RDB_WAS_KEPT || (k->note.head.was == RDB_WAS_LOST && !k->spent) ||
			      (k->note.head.was == RDB_WAS_EMPTY && !k->spent);
	lock_now();
	const bool all = destroys || !names_noted(ev, k);
	unlock();
	return all;
}

static void learn_all(const struct event *ev, const struct kept *k, const struct rdb_note_attributes *had)
{
	if (k->any)
		note_names(ev, k);
	if (k->any && k->kept && !k->spent)
		learn(k->alone ? of_inode(k->dev, k->ino, NEW) : of_file(k->dev, k->ino, k->note.text));
	if (k->appends)
		learn(of_inode(k->dev, k->ino, APPENDED));
	if (had)
		learn(of_inode(had->dev, had->ino, ATTRIBUTES));
}

static bool attributes_needed(const struct kept *k, const struct attributes *a)
{
	const struct rdb_note_attributes *had = &a->note.head;
	if (!a->any || a->makes)
		return false;
	lock_now();
	const bool noted = known(of_inode(had->dev, had->ino, ATTRIBUTES)) || known(of_inode(had->dev, had->ino, NEW));
	unlock();
	return had->xattr || !noted;
}

static void add_opened(struct built *b, const struct kept *k)
{
	struct {
		struct rdb_note_opened head;
		char path[KEPT_TEXT];
	} note = {.head.size = k->note.head.size};
	memcpy(note.path, k->note.text, k->len);
	add_note(b, RDB_NOTE_OPENED, &note, sizeof(note.head) + k->len - 1);
}

void undo_before(const struct event *ev, struct kept *k, const struct attributes *a)
{
	struct built b;
	if (!undo_follows())
		return;
	k->any = needed(ev, k);
	const bool attributes = attributes_needed(k, a);
	if (!k->any && !k->appends && !attributes)
		return;
	memset(&b, 0, sizeof(b));
	b.len = sizeof(struct undo_record);
	b.u.head.nr = (uint16_t)ev->nr;
	b.u.head.flags = flags_of(ev);
	if (k->any)
		add_note(&b, RDB_NOTE_WAS, &k->note, sizeof(k->note.head) + k->len);
	if (k->appends)
		add_opened(&b, k);
	if (attributes)
		add_note(&b, RDB_NOTE_ATTRIBUTES, &a->note, sizeof(a->note.head) + a->len);
	k->seq = __atomic_add_fetch(&undo.seq, 1, __ATOMIC_RELAXED);
	append(&b, UNDO_CALL, k->seq);
	lock_now();
	learn_all(ev, k, attributes ? &a->note.head : NULL);
	unlock();
}

/* A new file is the program's to destroy. */
static void made(const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return;
	lock_now();
	learn(of_inode(st->st_dev, st->st_ino, NEW));
	unlock();
}

void undo_made(const char *path)
{
	char full[LONGEST], place[LONGEST];
	struct stat st;
	if (undo_follows() && kept_name_of(AT_FDCWD, path, true, full, place) && !lstat(place, &st))
		made(&st);
}

void undo_after(const struct event *ev, const struct kept *k)
{
	struct built b;
	struct stat st;
	if (ev->result >= 0 && opens(ev) && k->len && k->note.head.was == RDB_WAS_ABSENT && !k->appends &&
	    !fstat((int)ev->result, &st))
		made(&st);
	if (ev->result >= 0 || !k->seq)
		return;
	memset(&b, 0, sizeof(b));
	b.len = sizeof(struct undo_record);
	append(&b, UNDO_FAILED, k->seq);
}

void undo_own(const char *path, const char *place)
{
	struct built b;
	const size_t len = strlen(path) + 1, room = strlen(place) + 1;
	if (!undo_follows() || len + room > sizeof(struct kept))
		return;
	memset(&b, 0, sizeof(b));
	b.len = sizeof(struct undo_record);
	memcpy(b.u.bytes + b.len, path, len);
	memcpy(b.u.bytes + b.len + len, place, room);
	b.len += (uint32_t)((len + room + 7) & ~7ul);
	append(&b, UNDO_OWN, 0);
}

void undo_unseen(void)
{
	struct built b;
	memset(&b, 0, sizeof(b));
	b.len = sizeof(struct undo_record);
	if (undo_follows())
		append(&b, UNDO_UNSEEN, 0);
}
