/* mremap and madvise, in all forms. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include "arch/registers.h"
#include "space/arena.h"
#include "crossing/boundary.h"
#include "space/ends.h"
#include "space/followed.h"
#include "answer/fork_advice.h"
#include "answer/memory_calls.h"
#include "answer/memory_limits.h"
#include "answer/memory_use.h"
#include "answer/made_text.h"
#include "answer/unknown_calls.h"
#include "space/mapping.h"
#include "answer/shared_calls.h"
#include "space/shared_memory.h"
#include "space/shared_sync.h"

#define A(i) (ev->args[i])
#define UP(x) (((x) + RDB_PAGE - 1) & ~(RDB_PAGE - 1))

static bool from_log(void)
{
	return lower.started && replaying();
}

/* A range that moves: its mappings, if there is no gap. */
struct found {
	uint64_t at, end; /* examined up to `at` */
	int prot;
	bool anonymous, shared, mixed;
};

static int find(const struct mapping *m, void *arg)
{
	struct found *f = arg;
	if (m->start > f->at)
		return 1;
	int prot = m->prot;
	ends_at(m->start, &prot);
	f->mixed |= f->prot >= 0 && prot != f->prot;
	f->prot = prot;
	f->anonymous &= m->anonymous;
	f->shared |= m->shared;
	f->at = m->end;
	return f->at >= f->end;
}

/* Maps the stored file at the new place, and copies the pages that differ from it. */
static long move_file(uint64_t old, size_t common, uint64_t at, size_t new_len, const struct file_mapping *f)
{
	struct file_mapping file = *f;
	int prot;
	if (old + common > f->end)
		return -EFAULT;
	long rc = memory_map_stored(at, new_len, PROT_READ | PROT_WRITE, file.key, file.offset + (old - file.start));
	for (size_t p = 0; !rc && p < common; p += RDB_PAGE)
		if (!ends_at(at + p, &prot) && !ends_at(old + p, &prot) &&
		    memcmp((const void *)(at + p), (const void *)(old + p), RDB_PAGE))
			memcpy((void *)(at + p), (const void *)(old + p), RDB_PAGE);
	return rc;
}

/* Moves by copying.  In a replay memory may be mapped from the image: growing such a mapping would show the image's
 * next bytes.  File mappings are copied while recording, too, so that the table of file mappings is kept in one way. */
static long move_by_copy(uint64_t old, size_t old_len, uint64_t at, size_t new_len, const struct found *src, bool keep)
{
	const struct file_mapping *f = arena_file_at(old), was = f ? *f : (struct file_mapping){0};
	size_t common = old_len < new_len ? old_len : new_len;
	long rc = 0;
	if (!(src->prot & PROT_READ))
		rc = raw_syscall(SYS_mprotect, (long)old, (long)old_len, src->prot | PROT_READ, 0, 0, 0);
	if (!rc && f) {
		rc = move_file(old, common, at, new_len, f);
	} else if (!rc) {
		rc = memory_map_zero(at, new_len, PROT_READ | PROT_WRITE);
		arena_unmapped(at, at + new_len);
		if (!rc)
			memcpy((void *)at, (const void *)old, common);
	}
	if (!rc && src->prot != (PROT_READ | PROT_WRITE))
		rc = raw_syscall(SYS_mprotect, (long)at, (long)new_len, src->prot, 0, 0, 0);
	if (rc)
		return rc;
	ends_protected(at, at + new_len, src->prot);
	shared_unmapped(at, at + new_len);
	arena_unmapped(old, old + old_len);
	if (keep && f)
		return memory_map_stored(old, old_len, src->prot, was.key, was.offset + (old - was.start));
	if (keep)
		return memory_map_zero(old, old_len, src->prot);
	munmap((void *)old, old_len);
	return 0;
}

static long move(struct event *ev, uint64_t old, size_t old_len, uint64_t at, size_t new_len)
{
	struct found src = {.at = old, .end = old + (old_len ? old_len : 1), .prot = -1, .anonymous = true};
	bool keep = A(3) & MREMAP_DONTUNMAP;
	int rc = arena_each_in(src.at, src.end, find, &src);
	long r;
	if (rc < 0)
		return rc;
	if (src.at < src.end || src.mixed)
		return -EFAULT;
	const struct file_mapping *f = arena_file_at(old);
	const size_t more = keep ? old_len : new_len > old_len ? new_len - old_len : 0;
	if (more && !from_log() && memory_limits_more(more, !src.shared && src.prot & PROT_WRITE, 0, 0))
		return -ENOMEM;
	if (keep && !from_log() && (f ? f->read_only : shared_at(old) && !shared_followed_until(old))) {
		old_len = 0; /* a further mapping of shared memory: nothing is taken from the old one */
		keep = false;
	}
	/* unrecorded: the kernel moves the pages; for files, an image knows only the mappings it was told of */
	const bool really = passing() && (src.shared || !coordinating());
	if (recording() && f && (f->read_only || !shared_at(old))) {
		r = followed_move(ev, f, old, old_len, at, new_len, src.prot, keep);
		if (r != -ENOENT)
			return r;
	}
	if (!from_log() && shared_at(old))
		return shared_move(ev, old, old_len, at, new_len, keep);
	const bool left = from_log() && keep && shared_left_recorded(old, old_len);
	if (from_log() && shared_map_recorded(at, new_len, src.prot, &r)) {
		if (!r && left)
			r = raw_syscall(SYS_mprotect, (long)old, (long)old_len, src.prot, 0, 0, 0);
		if (!r && old_len && !keep) {
			shared_unmapped(old, old + old_len);
			munmap((void *)old, old_len);
		}
		return r;
	}
	if (!old_len && !really)
		return -EINVAL;
	/* anonymous memory moves without being touched, unless it has become several mappings */
	if (really || (src.anonymous && !f)) {
		r = raw_syscall(SYS_mremap, (long)old, (long)old_len, (long)new_len,
				MREMAP_MAYMOVE | MREMAP_FIXED | (keep ? MREMAP_DONTUNMAP : 0), (long)at, 0);
		if (r >= 0) {
			arena_unmapped(at, at + new_len);
			shared_unmapped(at, at + new_len);
			return 0;
		}
		if (really || r != -EFAULT)
			return r;
	}
	return move_by_copy(old, old_len, at, new_len, &src, keep);
}

static int any(const struct mapping *m, void *arg)
{
	(void)m, (void)arg;
	return 1;
}

/* Without MREMAP_MAYMOVE: private memory of no file grows where there is room behind it. */
static long grow(uint64_t old, size_t old_len, size_t new_len)
{
	const uint64_t end = old + old_len;
	const size_t more = new_len - old_len;
	struct found src = {.at = old, .end = end, .prot = -1, .anonymous = true};
	const int rc = arena_each_in(old, end, find, &src);
	if (rc < 0)
		return rc;
	if (src.at < end || src.mixed)
		return -EFAULT;
	if (!src.anonymous || src.shared || arena_file_at(old) || shared_at(old) || src.at > end ||
	    arena_hinted(end, more, false) != end || arena_each_in(end, end + more, any, NULL))
		return -ENOMEM;
	if (!from_log() && memory_limits_more(more, src.prot & PROT_WRITE, 0, 0))
		return -ENOMEM;
	const long made = memory_map_zero(end, more, src.prot);
	if (made)
		return made;
	arena_chosen(end, end + more);
	memory_remapped(end, more);
	return (long)old;
}

long memory_mremap(struct event *ev, ucontext_t *uc)
{
	uint64_t old = A(0), at, before = lower.upper.mmap_next;
	uint64_t flags = A(3);
	size_t old_len = UP(A(1)), new_len = UP(A(2));
	struct mapping m;
	memory_use_stack_at(UC_SP(uc));
	shared_sync_before(ev);
	if (from_log() && ev->result < 0 && ev->result > -4096)
		return ev->result;
	if (old & (RDB_PAGE - 1) || !new_len)
		return -EINVAL;
	if (flags & ~7ul || (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP) && !(flags & MREMAP_MAYMOVE)) ||
	    (flags & MREMAP_DONTUNMAP && (old_len != new_len || A(4) & (RDB_PAGE - 1))))
		return -EINVAL;
	const bool stays = !(flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) && new_len <= old_len;
	if (!arena_mapping_at(old, &m))
		return -EFAULT;
	if (!rdb_is_upper_range(old, old_len))
		return stays ? -EINVAL : -EFAULT;
	if (stays) {
		const long rc = new_len < old_len ? memory_unmap(old + new_len, old_len - new_len) : 0;
		return rc ? rc : (long)old;
	}
	if (!from_log() && !old_len && !m.shared && !shared_at(old) && !arena_file_at(old))
		return -EINVAL; /* only of shared memory can there be a further mapping */
	if (!(flags & MREMAP_MAYMOVE))
		return grow(old, old_len, new_len);
	at = flags & MREMAP_FIXED ? A(4) : arena_take(new_len, false);
	long rc = 0;
	if (!at || !rdb_is_upper_range(at, new_len))
		rc = flags & MREMAP_FIXED ? -EINVAL : -ENOMEM;
	else if (at >= RDB_ARENA_END && arena_mapping_at(old, &m) && (m.prot & PROT_EXEC || made_text_unrun(m.prot)))
		rc = -EACCES; /* see place() in memory_calls.c */
	else if (at & (RDB_PAGE - 1) || (at < old + old_len && old < at + new_len))
		rc = -EINVAL;
	if (!rc)
		rc = move(ev, old, old_len, at, new_len);
	if (rc) {
		lower.upper.mmap_next = before;
		return rc;
	}
	arena_chosen(at, at + new_len);
	fork_advice_moved(old, at, new_len);
	if (flags & MREMAP_DONTUNMAP)
		memory_other_bytes(old, old_len);
	else
		memory_remapped(old, old_len);
	memory_other_bytes(at, new_len);
	return (long)at;
}

/* ---- madvise ---- */

enum { FREE = 8, REMOVE, DONTFORK, DOFORK, WIPEONFORK = 18, KEEPONFORK, DONTNEED_LOCKED = 24 };

/* Also in a replay: a restart continues from there. */
static long about_forks(struct event *ev, uint64_t start, uint64_t end)
{
	if (from_log() && ev->result && ev->result != -ENOMEM)
		return ev->result;
	const long rc = fork_advice((int)A(2), start, end);
	return from_log() ? ev->result : rc;
}

struct discard {
	uint64_t from, to;
};

/* MADV_DONTNEED: private anonymous memory becomes zero, a private file mapping shows the file again, shared
 * memory stays as it is. */
static int discard(const struct mapping *m, void *arg)
{
	struct discard *d = arg;
	uint64_t from = m->start > d->from ? m->start : d->from;
	uint64_t to = m->end < d->to ? m->end : d->to;
	while (from < to) {
		int prot;
		if (ends_at(from, &prot)) {
			from += RDB_PAGE;
			continue;
		}
		const struct file_mapping *f = arena_file_next(NULL, from, to);
		uint64_t end = to, shared = from, shared_end = to;
		const bool noted = shared_noted(&shared, &shared_end);
		long rc = 0;
		if (f && f->start <= from) {
			struct file_mapping copy = *f;
			end = f->end < to ? f->end : to;
			const uint64_t offset = copy.offset + (from - copy.start);
			rc = memory_map_stored(from, end - from, m->prot, copy.key, offset);
			if (!rc)
				memory_look(from, end - from, m->prot, copy.key, offset);
			arena_file_mapped(&copy); /* in one piece again */
		} else if (noted && shared == from) {
			end = shared_end;
		} else {
			if (f)
				end = f->start;
			if (noted && shared < end)
				end = shared;
			rc = memory_map_zero(from, end - from, m->prot);
		}
		if (rc)
			return (int)rc;
		from = end;
	}
	return 0;
}

/* MADV_REMOVE: becomes zero for all that share the memory. */
static long remove_shared(struct event *ev, size_t len)
{
	static const char zeros[RDB_PAGE];
	if (!from_log()) {
		shared_note_parts(ev, A(0), A(0) + len);
		return raw_syscall(SYS_madvise, (long)A(0), (long)len, REMOVE, 0, 0, 0);
	}
	for (uint64_t at = A(0), end = A(0) + len; !ev->result && shared_noted(&at, &end); end = A(0) + len)
		for (; at < end; at += RDB_PAGE)
			shared_apply(at, zeros, sizeof(zeros));
	return ev->result;
}

static long advise(struct event *ev, size_t len)
{
	return from_log() ? ev->result : raw_syscall(SYS_madvise, (long)A(0), (long)len, (long)A(2), 0, 0, 0);
}

struct refused {
	struct event *ev;
	uint64_t from, to;
};

/* mm/madvise.c, madvise_walk_vmas: the mappings before the refused one have been discarded.  Says what is there now. */
static int discarded(const struct mapping *m, void *arg)
{
	const struct refused *r = arg;
	const uint64_t from = m->start > r->from ? m->start : r->from, to = m->end < r->to ? m->end : r->to;
	if (raw_syscall(SYS_madvise, (long)from, (long)(to - from), (long)r->ev->args[2], 0, 0, 0))
		return 1;
	if (!m->shared && m->prot & PROT_WRITE)
		event_out(r->ev, (void *)from, to - from);
	return 0;
}

long memory_madvise(struct event *ev, ucontext_t *uc)
{
	const size_t len = UP(A(1));
	/* do_madvise() in mm/madvise.c */
	if (A(0) & (RDB_PAGE - 1) || (A(1) && !len) || A(0) + len < len)
		return -EINVAL;
	if (!len || !rdb_is_upper_range(A(0), len)) {
		const long rc = from_log() ? ev->result : raw_syscall(SYS_madvise, 0, 0, (long)(int)A(2), 0, 0, 0);
		return rc || !len ? rc : -ENOMEM;
	}
	switch (A(2)) {
	case FREE: /* keeps the pages, as if memory had never run short */
		return from_log() ? ev->result : fork_advice_is_private(A(0), A(0) + len);
	case DONTFORK:
	case DOFORK:
	case WIPEONFORK:
	case KEEPONFORK: return about_forks(ev, A(0), A(0) + len);
	case 100:
	case 101: return -EPERM; /* MADV_HWPOISON, MADV_SOFT_OFFLINE */
	case 102:
	case 103: /* MADV_GUARD_INSTALL, _REMOVE */
		if (!from_log() && !raw_syscall(SYS_madvise, 0, 0, (long)A(2), 0, 0, 0))
			refused_request("madvise", SYS_madvise, (unsigned)A(2), EINVAL,
					"rdb could not read guarded pages");
		return -EINVAL;
	case REMOVE: return remove_shared(ev, len);
	case MADV_DONTNEED:
	case DONTNEED_LOCKED: break;
	default: return advise(ev, len);
	}
	if (!from_log()) {
		shared_note_parts(ev, A(0), A(0) + len);
		const long rc = advise(ev, len);
		struct refused refused = {ev, A(0), A(0) + len};
		if (rc == -EINVAL && recording() && arena_each_in(refused.from, refused.to, discarded, &refused) < 0)
			rdb_fatal("memory at %#lx cannot be logged", (unsigned long)A(0));
		return rc;
	}
	struct discard d = {.from = A(0), .to = A(0) + len};
	if (ev->result == -EINVAL)
		return ev->result;
	int rc = arena_each_in(d.from, d.to, discard, &d);
	memory_other_bytes(A(0), len);
	return rc ? rc : ev->result;
}
