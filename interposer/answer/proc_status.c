#include "answer/proc_status.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "answer/limits.h"
#include "answer/memory_use.h"
#include "answer/seccomp_calls.h"
#include "base/descriptor_table.h"
#include "base/descriptors.h"
#include "base/pids.h"
#include "task/signals.h"

void proc_put(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);
		if (n <= 0)
			rdb_fatal("the contents of a /proc file cannot be prepared in memory: %s", strerror(errno));
		text += n;
		len -= (size_t)n;
	}
}

static void say(int fd, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(int fd, const char *format, ...)
{
	char text[256];
	va_list args;
	va_start(args, format);
	const int n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	proc_put(fd, text, (size_t)n);
}

/* Of a line, with its newline. */
static const char *line_end(const char *line)
{
	const char *end = strchrnul(line, '\n');
	return end + (*end == '\n');
}

bool proc_status_of(int tid, struct status_of *of)
{
	if (tid < 0) {
		of->thread = thread_self();
	} else if (!tid || tid == lower.pid) {
		of->thread = threads_find(1);
		of->carrier = lower.pid;
		return true;
	} else {
		for (of->thread = threads_first(); of->thread && of->thread->carrier != tid;)
			of->thread = of->thread->next;
	}
	of->carrier = of->thread ? of->thread->carrier : 0;
	return of->thread;
}

/* The program's threads, as the kernel counts: also the first one after its end. */
static unsigned threads(void)
{
	return lower.threads + !threads_find(1);
}

static ssize_t read_task(const struct status_of *of, const char *name, char *text, size_t room)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/task/%d/%s", of->carrier, name);
	return descriptor_text(path, text, room);
}

/* ---- status ---- */

static uint64_t *shown_as(struct signals_shown *shown, const char *line)
{
	static const char names[][8] = {"SigPnd:", "ShdPnd:", "SigBlk:", "SigIgn:", "SigCgt:"};
	uint64_t *const of[] = {&shown->pending, &shown->shared, &shown->blocked, &shown->ignored, &shown->caught};
	for (unsigned i = 0; i < 5; i++)
		if (!strncmp(line, names[i], 7))
			return of[i];
	return NULL;
}

/* A line of a status file with one id, in every namespace of which we know nothing. */
static bool put_id(int fd, const char *line)
{
	static const struct {
		const char *name;
		int32_t (*known)(int32_t);
	} rows[] = {{"Tgid:", threads_number_known},   {"Ngid:", threads_number_known},
		    {"Pid:", threads_number_known},    {"PPid:", pid_parent_known},
		    {"NStgid:", threads_number_known}, {"NSpid:", threads_number_known},
		    {"NSpgid:", pid_group_known},      {"NSsid:", pid_session_known}};
	for (unsigned i = 0; pids() && i < sizeof(rows) / sizeof(*rows); i++)
		if (!strncmp(line, rows[i].name, strlen(rows[i].name))) {
			say(fd, "%s\t%d\n", rows[i].name, rows[i].known(atoi(line + strlen(rows[i].name))));
			return true;
		}
	return false;
}

/* What the kernel's file says of rdb: read first. */
struct kernels {
	struct signals_shown signals;
	unsigned filters;
	uint64_t size; /* VmSize, in bytes */
};

static bool put_memory(int fd, const char *line, const struct kernels *k, const struct memory_use *use)
{
	const struct {
		const char *name;
		uint64_t bytes;
	} rows[] = {{"VmSize:", use->all}, {"VmData:", use->data}, {"VmStk:", use->stack}};
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (!strncmp(line, rows[i].name, strlen(rows[i].name))) {
			say(fd, "%s\t%8lu kB\n", rows[i].name, (unsigned long)rows[i].bytes >> 10);
			return true;
		}
	if (strncmp(line, "VmPeak:", 7) != 0)
		return false;
	const uint64_t peak = strtoul(line + 7, NULL, 10) << 10, ours = k->size - use->all;
	say(fd, "VmPeak:\t%8lu kB\n", (unsigned long)(peak - ours > use->all ? peak - ours : use->all) >> 10);
	return true;
}

/* Lines that the kernel leaves out for a thread that has ended. */
static bool is_of_memory(const char *line)
{
	static const char *const names[] = {
		"Vm", "Rss", "HugetlbPages:", "CoreDumping:", "THP_enabled", "untag_mask:", "x86_Thread"};
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(line, names[i], strlen(names[i])))
			return true;
	return false;
}

static void put_line(int fd, const char *line, const char *end, const struct status_of *of, struct kernels *k,
		     const struct memory_use *use)
{
	const uint64_t *value = shown_as(&k->signals, line);
	if (value)
		say(fd, "%.7s\t%016lx\n", line, (unsigned long)*value);
	else if (!of->thread && is_of_memory(line))
		return;
	else if (!of->thread && !strncmp(line, "State:", 6))
		say(fd, "State:\tZ (zombie)\n");
	else if (!strncmp(line, "FDSize:", 7))
		say(fd, "FDSize:\t%d\n", of->thread ? descriptor_table() : 0);
	else if (of->thread && !strncmp(line, "Seccomp:", 8))
		say(fd, "Seccomp:\t%d\n", seccomp_mode(of->thread, k->filters));
	else if (of->thread && !strncmp(line, "Seccomp_filters:", 16))
		say(fd, "Seccomp_filters:\t%u\n", seccomp_filters(of->thread, k->filters));
	else if (!strncmp(line, "Threads:", 8))
		say(fd, "Threads:\t%u\n", threads());
	else if (!put_memory(fd, line, k, use) && !put_id(fd, line))
		proc_put(fd, line, (size_t)(end - line));
}

int proc_status_put(int fd, const struct status_of *of)
{
	static char text[16384];
	struct kernels k = {.filters = 0};
	struct memory_use use;
	const ssize_t n = read_task(of, "status", text, sizeof(text));
	if (n < 0)
		return (int)n;
	const long rc = memory_use(&use, 0, 0);
	if (rc)
		return (int)rc;
	for (const char *line = text; *line;) {
		uint64_t *value = shown_as(&k.signals, line);
		if (value)
			*value = strtoul(line + 7, NULL, 16);
		else if (!strncmp(line, "Seccomp_filters:", 16))
			k.filters = (unsigned)strtoul(line + 16, NULL, 10);
		else if (!strncmp(line, "VmSize:", 7))
			k.size = strtoul(line + 7, NULL, 10) << 10;
		line = line_end(line);
	}
	signals_show(of->thread ? of->thread : thread_self(), &k.signals);
	if (!of->thread)
		k.signals.pending = k.signals.blocked = 0;
	for (const char *line = text; *line;) {
		const char *end = line_end(line);
		put_line(fd, line, end, of, &k, &use);
		line = end;
	}
	return 0;
}

/* ---- stat ---- */

/* do_task_stat() in fs/proc/array.c: a field of a thread, by its number in proc_pid_stat(5); false: as the kernel has
 * it. */
static bool put_field(int fd, unsigned field, long kernels, const struct status_of *of, const struct memory_use *use)
{
	const struct upper_state *u = &lower.upper;
	const uint64_t low = 0x7fffffff;
	const bool ended = !of->thread;
	struct signals_shown shown = {0};
	signals_show(ended ? thread_self() : of->thread, &shown);
	switch (field) {
	case 4: say(fd, " %d", pid_parent_known((int32_t)kernels)); break;
	case 5: say(fd, " %d", pid_group_known((int32_t)kernels)); break;
	case 6: say(fd, " %d", pid_session_known((int32_t)kernels)); break;
	case 8: say(fd, " %d", pid_group_known((int32_t)kernels)); break;
	case 20: say(fd, " %u", threads()); break;
	case 23: say(fd, " %lu", ended ? 0 : (unsigned long)use->all); break;
	case 31: say(fd, " %lu", ended ? 0 : (unsigned long)(shown.pending & low)); break;
	case 32: say(fd, " %lu", ended ? 0 : (unsigned long)(shown.blocked & low)); break;
	case 33: say(fd, " %lu", (unsigned long)(shown.ignored & low)); break;
	case 34: say(fd, " %lu", (unsigned long)(shown.caught & low)); break;
	case 47: say(fd, " %lu", kernels ? (unsigned long)RDB_BRK : 0); break;
	case 48: say(fd, " %lu", kernels ? (unsigned long)u->arguments : 0); break;
	case 49:
	case 50: say(fd, " %lu", kernels ? (unsigned long)u->variables : 0); break;
	case 51: say(fd, " %lu", kernels ? (unsigned long)u->strings_end : 0); break;
	default: return ended && (field == 24 || (field >= 26 && field <= 30)) ? say(fd, " 0"), true : false;
	}
	return true;
}

int proc_status_stat(int fd, const struct status_of *of)
{
	static char text[4096];
	struct memory_use use;
	const ssize_t n = read_task(of, "stat", text, sizeof(text));
	const char *name = strchr(text, '('), *at = strrchr(text, ')');
	if (n < 0)
		return (int)n;
	const long rc = memory_use(&use, 0, 0);
	if (rc || !name || !at || strlen(at) < 4)
		return rc ? (int)rc : -EIO;
	say(fd, "%d ", of->thread ? of->thread->upper.tid : pid_known(lower.pid));
	proc_put(fd, name, (size_t)(at + 1 - name));
	say(fd, " %c", of->thread ? at[2] : 'Z');
	at += 3;
	for (unsigned field = 4; *at == ' '; field++) {
		char *end;
		const long value = strtol(at, &end, 10);
		if (!put_field(fd, field, value, of, &use))
			proc_put(fd, at, (size_t)(end - at));
		at = end;
	}
	proc_put(fd, "\n", 1);
	return 0;
}

/* ---- statm and limits ---- */

int proc_status_memory(int fd, const struct status_of *of)
{
	char text[256];
	struct memory_use use;
	unsigned long size, resident, shared, program;
	const ssize_t n = read_task(of, "statm", text, sizeof(text));
	const long rc = n < 0 ? n : memory_use(&use, 0, 0);
	if (rc)
		return (int)rc;
	if (sscanf(text, "%lu %lu %lu %lu", &size, &resident, &shared, &program) != 4)
		return -EIO;
	if (of->thread)
		say(fd, "%lu %lu %lu %lu 0 %lu 0\n", (unsigned long)use.all / RDB_PAGE, resident, shared, program,
		    (unsigned long)(use.data + use.stack) / RDB_PAGE);
	else
		say(fd, "0 0 0 0 0 0 0\n");
	return 0;
}

enum { LIMIT_NAME = 26, LIMIT_VALUE = 21 }; /* columns: proc_pid_limits() in fs/proc/base.c */

/* A line about a limit that rdb sets apart (limits.h). */
static bool is_of_limit_apart(const char *line, const char *end)
{
	return end - line > LIMIT_NAME + 2 * LIMIT_VALUE &&
	       (!strncmp(line, "Max address space ", 18) || !strncmp(line, "Max data size ", 14) ||
		!strncmp(line, "Max file size ", 14));
}

/* One value of such a line.  False: the kernel has it as the program does. */
static bool limit_apart(const char *word, uint64_t *known)
{
	char *end;
	const uint64_t value = strtoul(word, &end, 10);
	*known = limits_known(value);
	return end > word && *known != value;
}

static void put_limit(int fd, const char *word)
{
	uint64_t known;
	if (limit_apart(word, &known))
		say(fd, "%-20lu ", (unsigned long)known);
	else
		proc_put(fd, word, LIMIT_VALUE);
}

bool proc_status_limits_differ(const char *text)
{
	uint64_t known;
	for (const char *line = text, *end; *line; line = end) {
		end = line_end(line);
		if (is_of_limit_apart(line, end) &&
		    (limit_apart(line + LIMIT_NAME, &known) || limit_apart(line + LIMIT_NAME + LIMIT_VALUE, &known)))
			return true;
	}
	return false;
}

void proc_status_limits(int fd, const char *text)
{
	for (const char *line = text, *end; *line; line = end) {
		end = line_end(line);
		if (is_of_limit_apart(line, end)) {
			proc_put(fd, line, LIMIT_NAME);
			put_limit(fd, line + LIMIT_NAME);
			put_limit(fd, line + LIMIT_NAME + LIMIT_VALUE);
			line += LIMIT_NAME + 2 * LIMIT_VALUE;
		}
		proc_put(fd, line, (size_t)(end - line));
	}
}
