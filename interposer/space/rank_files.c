#include "space/rank_files.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/lower.h"
#include "base/private_file.h"
#include "base/proc_stat.h"
#include "space/cautions.h"
#include "space/floors.h"
#include "space/rank_dir.h"

enum { FILES = 1 << 20, TRIES = 256, READERS = 1 << 12, OWN = 256 };
static const uint32_t SEVERAL = UINT32_MAX;

struct file {
	uint64_t key; /* floor_key(): two files that have the same do no harm; 0: free */
	uint32_t openings, mapped;
	uint32_t by; /* the process that has opened it for writing, or SEVERAL */
};

struct reader {
	uint64_t key;
	uint32_t pid;         /* 0: free */
	uint32_t asked, seen; /* how often */
};

static struct {
	uint32_t openings, mappings;
	uint32_t used; /* readers from here on have never been taken */
	struct reader reader[READERS];
	struct file file[FILES];
} * files;

static struct {
	struct reader *reader[OWN];
	unsigned n;
} own;

static bool forked; /* ever */

#define LOAD(what) __atomic_load_n(&(what), __ATOMIC_SEQ_CST)
#define STORE(what, value) __atomic_store_n(&(what), value, __ATOMIC_SEQ_CST)
#define MORE(what) __atomic_add_fetch(&(what), 1, __ATOMIC_SEQ_CST)

static bool becomes(uint32_t *what, uint32_t before, uint32_t after)
{
	return __atomic_compare_exchange_n(what, &before, after, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static void cannot(const char *why)
{
	static bool said;
	if (!said)
		caution("%s: a replay may differ where a process of this rank has mapped a file that another writes to",
			why);
	said = true;
}

static bool there(void)
{
	static bool failed;
	char path[4096 + 16];
	if (files || failed)
		return files;
	rank_dir(path, sizeof(path));
	strcat(path, "/readers");
	const int fd = private_create(AT_FDCWD, path, O_RDWR | O_CLOEXEC);
	void *p = MAP_FAILED;
	if (fd >= 0 && !ftruncate(fd, sizeof(*files)))
		p = mmap(NULL, sizeof(*files), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	failed = p == MAP_FAILED;
	if (failed)
		cannot("rdb cannot keep track of mapped files");
	else
		files = p;
	return files;
}

/* NULL: it is not in the table, or there is no room. */
static struct file *find(uint64_t key, bool add)
{
	for (unsigned i = 0; i < TRIES && there(); i++) {
		struct file *f = &files->file[(key + i) % FILES];
		uint64_t now = LOAD(f->key);
		const bool free = !now;
		if (free && add)
			__atomic_compare_exchange_n(&f->key, &now, key, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
		if (now == key || (free && add && !now))
			return f;
		if (free && !add)
			return NULL;
	}
	if (files && add)
		cannot("this rank writes or maps more files than rdb keeps track of");
	return NULL;
}

/* A free place; dead: or one that a process has left which was killed. */
static struct reader *take_place(bool dead)
{
	for (struct reader *r = files->reader; own.n < OWN && r < files->reader + READERS; r++) {
		const uint32_t was = LOAD(r->pid), n = (uint32_t)(r - files->reader) + 1;
		if ((was && !(dead && process_ended(was))) || !becomes(&r->pid, was, (uint32_t)lower.pid))
			continue;
		for (uint32_t used; (used = LOAD(files->used)) < n;)
			becomes(&files->used, used, n);
		return r;
	}
	return NULL;
}

static void reads(uint64_t key)
{
	struct reader *r = NULL;
	for (unsigned i = 0; i < own.n; i++)
		if (own.reader[i]->key == key)
			return;
	if (!(r = take_place(false)) && !(r = take_place(true))) {
		cannot("more files are mapped than rdb keeps track of");
		return;
	}
	STORE(r->seen, LOAD(r->asked));
	STORE(r->key, key);
	own.reader[own.n++] = r;
}

static void reads_no_more(unsigned which)
{
	struct reader *r = own.reader[which];
	own.reader[which] = own.reader[--own.n];
	STORE(r->key, 0);
	STORE(r->pid, 0);
}

static void mapped(struct file *f)
{
	if (f && !__atomic_exchange_n(&f->mapped, 1, __ATOMIC_SEQ_CST))
		MORE(files->mappings);
}

void rank_file_mapped(uint64_t dev, uint64_t ino)
{
	struct file *f = find(floor_key(dev, ino), true);
	if (f)
		reads(f->key);
	mapped(f);
}

void rank_file_followed(uint64_t dev, uint64_t ino)
{
	const uint64_t key = floor_key(dev, ino);
	mapped(find(key, true));
	for (unsigned i = own.n; i-- > 0;)
		if (own.reader[i]->key == key)
			reads_no_more(i);
}

bool rank_file_is_mapped(uint64_t dev, uint64_t ino)
{
	const struct file *f = find(floor_key(dev, ino), false);
	return f && LOAD(f->mapped);
}

uint32_t rank_file_openings(uint64_t dev, uint64_t ino)
{
	const struct file *f = find(floor_key(dev, ino), false);
	return f && (forked || LOAD(f->by) != (uint32_t)lower.pid) ? LOAD(f->openings) : 0;
}

/* The next reader after r; NULL: the first. */
static struct reader *next_reader(uint64_t key, struct reader *r)
{
	const uint32_t used = LOAD(files->used);
	for (r = r ? r + 1 : files->reader; r < files->reader + used; r++)
		if (LOAD(r->key) == key && LOAD(r->pid) != (uint32_t)lower.pid)
			return r;
	return NULL;
}

bool rank_file_opened(uint64_t dev, uint64_t ino, void (*tell)(uint32_t pid))
{
	struct file *f = find(floor_key(dev, ino), true);
	bool any = false;
	if (!f)
		return false;
	if (!becomes(&f->by, 0, (uint32_t)lower.pid) && LOAD(f->by) != (uint32_t)lower.pid)
		STORE(f->by, SEVERAL);
	MORE(f->openings);
	if (!LOAD(f->mapped))
		return false;
	MORE(files->openings);
	for (struct reader *r = NULL; (r = next_reader(f->key, r)); any = true) {
		const uint32_t pid = LOAD(r->pid);
		MORE(r->asked);
		if (pid)
			tell(pid);
	}
	return any;
}

bool rank_file_seen(uint64_t dev, uint64_t ino)
{
	for (struct reader *r = NULL; (r = next_reader(floor_key(dev, ino), r));)
		if (LOAD(r->seen) != LOAD(r->asked) && !process_ended(LOAD(r->pid)))
			return false;
	return true;
}

bool rank_files_asked(void)
{
	for (unsigned i = 0; i < own.n; i++)
		if (LOAD(own.reader[i]->seen) != LOAD(own.reader[i]->asked))
			return true;
	return false;
}

void rank_files_saw(bool (*shows)(uint64_t key))
{
	for (unsigned i = own.n; i-- > 0;) {
		STORE(own.reader[i]->seen, LOAD(own.reader[i]->asked));
		if (shows && !shows(own.reader[i]->key))
			reads_no_more(i);
	}
}

uint32_t rank_files_openings(void)
{
	return files ? LOAD(files->openings) : 0;
}

uint32_t rank_files_mappings(void)
{
	return files ? LOAD(files->mappings) : 0;
}

void rank_files_before_fork(void)
{
	forked = true;
}

void rank_files_forked(void)
{
	own.n = 0;
}

void rank_files_leave(void)
{
	while (own.n)
		reads_no_more(own.n - 1);
}
