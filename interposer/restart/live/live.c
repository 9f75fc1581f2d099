#include "restart/live/live.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "space/upper_memory.h"
#include "crossing/arrivals.h"
#include "crossing/boundary.h"
#include "crossing/hot_sites.h"
#include "text/hot_stubs.h"
#include "restart/process/attributes.h"
#include "restart/process/identity_logged.h"
#include "restart/process/clocks.h"
#include "restart/files/file_locks.h"
#include "restart/live/live_threads.h"
#include "restart/copies/mapped_files.h"
#include "restart/files/open_files.h"
#include "restart/copies/own_files.h"
#include "restart/process/posix_timers.h"
#include "restart/process/scheduling.h"
#include "restart/memory/shared_again.h"
#include "restart/process/sent_signals.h"
#include "restart/sockets/sockets.h"
#include "restart/process/timers.h"
#include "restart/tree/tree.h"
#include "restart/tree/tree_born.h"
#include "log/log_reader.h"
#include "log/log_writer.h"
#include "space/device_memory.h"
#include "space/shared_memory.h"
#include "log/meta.h"
#include "base/pids.h"
#include "base/private_file.h"
#include "space/side_files.h"
#include "answer/hook_calls.h"
#include "answer/process.h"
#include "replay/replay.h"
#include "task/signals.h"
#include "task/baton.h"
#include "task/thread.h"

static bool at_trap; /* the cut is at the trap after a hypercall */

static bool begin(void)
{
	return (tree() && tree_inherited()) || open_files_load();
}

static void closed(struct opened *f, bool last)
{
	file_locks_closed(f, last);
	if (last && f->kind == FILE_WRITTEN) {
		own_closed(f);
		lower_fd_close(f->copy);
	}
	if (last && f->kind == SOCKET)
		socket_closed(f);
}

const struct open_owners live_owners = {.begin = begin, .closed = closed};

void live_syscall(const struct event *ev)
{
	const bool forks = process_forks(ev);
	if (forks) {
		tree_children_load();
		process_child_counted();
	}
	if (forks && ev->result > 0)
		own_forked();
	if (forks && tree() && ev->result > 0)
		tree_forked(ev);
	if (ev->result < 0 && ev->result > -4096 && !(ev->nr == SYS_connect && ev->result == -EINPROGRESS))
		return;
	open_files_syscall(ev);
	if (tree())
		tree_grouped(ev);
	timers_syscall(ev);
	posix_timers_syscall(ev);
	sent_signals_syscall(ev);
	scheduling_syscall(ev);
	attributes_syscall(ev);
	identity_logged(ev);
	clocks_syscall(ev);
	file_locks_syscall(ev);
}

static void log_files(void)
{
	struct log_reader r;
	const struct log_record *rec;
	int rc = log_reader_open(&r, lower.opt.restart);
	if (rc)
		live_refuse("%s", r.error);
	while ((rec = log_reader_next(&r)) && (!LOG_IS_EVENT(rec->kind) || rec->event <= lower.opt.at)) {
		char key[160], path[4096];
		const struct log_chunk *c = rec->kind == LOG_FILE ? log_chunk_next(rec, NULL) : NULL;
		char text[sizeof(key) + sizeof(path) + 16];
		if (!c || c->len >= sizeof(text))
			continue;
		memcpy(text, c + 1, c->len);
		text[c->len] = 0;
		if (sscanf(text, "key=%159[^\n]\npath=%4095[^\n]", key, path) == 2)
			meta_log_file(key, path);
	}
	log_reader_close(&r);
}

/* Of a program without child processes: the table of ids that it shares with those it starts later. */
static void make_pids(void)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/pids", lower.opt.branch);
	const int fd = private_create(AT_FDCWD, path, O_RDWR | O_EXCL);
	int rc = fd < 0 ? fd : ftruncate(fd, sizeof(struct pids)) ? -errno : pids_open(strdup(path));
	if (rc)
		live_refuse("%s: %s", path, strerror(-rc));
	close(fd);
	pids()->n = 1;
	pids()->list[0] = (struct pid_entry){.known = lower.upper.pid, .now = lower.pid};
}

void live_as_branch(ucontext_t *uc, const struct mode *mode)
{
	int rc = log_open(lower.opt.branch);
	if (rc)
		live_refuse("%s: the log cannot be created: %s", lower.opt.branch, strerror(-rc));
	lower.opt.dir = lower.opt.branch;
	mode_switch(mode);
	lower.event = 0;
	lower.upper.generation++;
	excluded_zero();
	if (!pids())
		make_pids();
	for (const struct thread *t = threads_first(); t; t = t->next)
		if (t->upper.tid != lower.upper.pid)
			pids_thread(t->upper.tid);
	baton_reset();
	meta_log(lower.upper.exe);
	log_files();
	shared_adopt_mapped(shared_again_kind);
	rc = hot_stubs_lengthen();
	if (!rc)
		rc = boundary_gate_live();
	if (rc)
		live_refuse("rdb cannot intercept its system calls: %s", strerror(-rc));
	hot_sites_learn(uc);
	signals_install_restored();
	timers_restore();
	posix_timers_restore();
}

static void go(ucontext_t *uc)
{
	if (tree())
		tree_at_end();
	if (!live_threads_at_rest())
		live_refuse("it is inside a callback");
	if (shared_regions)
		live_refuse("it has shared memory");
	const char *changed = identity_logged_refuses();
	if (changed)
		live_refuse("%s", changed);
	live_libraries_cut();
	const struct log_record *last = replay_record();
	const uint64_t now_ns = live_cut_ns = last ? last->at_ns : 0;
	thread_self()->state = THREAD_RUNS; /* the thread may have been stopped in a computation */
	clocks_cut(now_ns);
	replay_close();
	upper_close();
	timers_save(now_ns);
	posix_timers_save(now_ns);
	sent_signals_save();
	scheduling_save();
	attributes_save();
	live_threads_part(now_ns);
	/* from here on the program's own descriptors, in place of what the replay had open */
	later_files_load();
	open_files_save();
	tree_children_save();
	if (tree())
		tree_at_cut();
	else if (mapped_files_any())
		live_refuse("a file is mapped shared");
	else
		sockets_restore();
	open_files_restore();
	file_locks_restore();
	live_threads_carried();
	live_threads_named();
	if (tree())
		tree_opened();
	live_as_branch(uc, &mode_record);
	device_memory_live();
	boundary_begin(uc);
	host_live();
	sent_signals_restore();
	scheduling_restore();
	if (tree())
		tree_go();
	else
		attributes_relations();
	attributes_restore();
	live_libraries_go();
	side_files_whole(lower.opt.branch);
	live_threads_begin(uc);
	signals_want_delivery(uc);
}

void live_at_event(ucontext_t *uc)
{
	if (thread_self()->state == THREAD_ENDS)
		return; /* another thread goes live in its place: turns_leave() */
	if (uc) {
		go(uc);
		return;
	}
	at_trap = true;
	boundary_trap_on_return();
}

void live_at_trap(ucontext_t *uc)
{
	if (!at_trap)
		return;
	at_trap = false;
	go(uc);
}
