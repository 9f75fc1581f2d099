#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "arch/machine.h"
#include "base/cpu_features.h"
#include "base/monotonic.h"
#include "log/log_reader.h"
#include "log/log_writer.h"
#include "log/meta.h"

static struct {
	char *text; /* META under construction */
	size_t len, cap;
	char *files; /* texts of the LOG_FILE records, each with its terminating NUL */
	size_t files_len, files_cap;
	char last_key[160];
} meta;

static void append_record(enum log_kind kind, const char *text, size_t len)
{
	struct event_chunk chunk = {.data = text, .len = (uint32_t)len, .note = RDB_NOTE_TEXT};
	struct event ev;
	memset(&ev, 0, sizeof(ev));
	ev.kind = (uint16_t)kind;
	ev.chunks = &chunk;
	ev.nchunks = 1;
	int rc = log_append(&ev, lower.event);
	if (rc)
		rdb_fatal("%s: %s", lower.opt.dir, strerror(-rc));
}

static void add(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void *grown(void *at, size_t from, size_t to)
{
	void *p = at ? mremap(at, from, to, MREMAP_MAYMOVE)
		     : mmap(NULL, to, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		rdb_fatal("out of memory for the log's description of the program: %s", strerror(errno));
	return p;
}

static void add(const char *fmt, ...)
{
	for (;;) {
		va_list ap;
		va_start(ap, fmt);
		const int n = vsnprintf(meta.text + meta.len, meta.cap - meta.len, fmt, ap);
		va_end(ap);
		if (n < 0)
			rdb_fatal("the log's description of the program cannot be written: %s", strerror(errno));
		if (meta.len + (size_t)n < meta.cap) {
			meta.len += (size_t)n;
			return;
		}
		const size_t cap = 2 * (meta.len + (size_t)n + RDB_PAGE);
		meta.text = grown(meta.text, meta.cap, cap);
		meta.cap = cap;
	}
}

static void add_string(const char *s)
{
	add("\"");
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;
		if (c == '"' || c == '\\')
			add("\\%c", c);
		else if (c < ' ')
			add("\\u%04x", c);
		else
			add("%c", c);
	}
	add("\"");
}

/* The name of the MPI, which is that of its plug-in's folder. */
static const char *mpi_name(void)
{
	static char name[256];
	const char *path = lower.opt.mpi_lower;
	const char *end = strrchr(path, '/'), *start = end;
	while (start && start > path && start[-1] != '/')
		start--;
	if (start)
		snprintf(name, sizeof(name), "%.*s", (int)(end - start), start);
	return name;
}

void meta_log(const char *path)
{
	char cwd[4096] = "", host[256] = "";
	const uint64_t real = clock_ns(CLOCK_REALTIME);
	if (raw_syscall(SYS_getcwd, (long)cwd, sizeof(cwd), 0, 0, 0, 0) < 0)
		strcpy(cwd, "?"); /* the directory is gone */
	if (gethostname(host, sizeof(host) - 1))
		strcpy(host, "?");
	meta.len = 0;
	add("{\"version\":%d,\"rank\":%d,\"world_first\":%d,\"appnum\":%d,\"pid\":%d,\"known_pid\":%d,\"machine\":\"%s\",\"started_ns\":%lu,\"exe\":",
	    RDB_LOG_VERSION, lower.opt.rank, lower.opt.world_first, lower.opt.appnum, lower.pid, lower.upper.pid,
	    ELF_PLATFORM, (unsigned long)real);
	add_string(path);
	add(",\"cwd\":");
	add_string(cwd);
	add(",\"host\":");
	add_string(host);
	add(",\"argv\":[");
	for (char **a = lower.opt.argv; *a; a++) {
		if (a != lower.opt.argv)
			add(",");
		add_string(*a);
	}
	char cpu[CPU_TEXT], which[CLOCKS_WHICH];
	cpu_describe(cpu);
	clocks_which(which);
	const int64_t monotonic = (int64_t)monotonic_ns(), since_boot = (int64_t)clock_ns(CLOCK_BOOTTIME);
	const long ticks = raw_syscall(SYS_times, 0, 0, 0, 0, 0, 0);
	add("],\"clocks\":\"%s %lu %ld %ld %ld %ld %ld %ld\",\"cpu\":%s}", which, (unsigned long)real, monotonic,
	    since_boot, ticks, monotonic + lower.clocks.monotonic, since_boot + lower.clocks.boot,
	    ticks + lower.clocks.ticks, cpu);
	if (lower.opt.mpi_lower) {
		meta.len--;
		add(",\"mpi\":");
		add_string(mpi_name());
		add("}");
	}
	if (lower.opt.order || lower.opt.lean) {
		meta.len--;
		add(",\"record\":\"%s\"}", lower.opt.order ? "order" : "lean");
	}
	if (lower.opt.keep.unit != LIMIT_NONE) {
		meta.len--;
		add(",\"keep\":");
		add_string(lower.opt.keep.text);
		add("}");
	}
	if (coordinating()) {
		meta.len--;
		add(",\"record\":\"checkpoints\"}");
	}
	append_record(LOG_META, meta.text, meta.len);
}

bool meta_find(const char *dir, const char *key, char *out, size_t room)
{
	struct log_reader reader;
	const char *at = NULL;
	if (log_reader_open(&reader, dir))
		return false; /* the reader of the log says why */
	const struct log_record *rec = log_reader_next(&reader);
	if (rec && rec->kind == LOG_META)
		for (const struct log_chunk *c = NULL; !at && (c = log_chunk_next(rec, c));) {
			const char *end = (const char *)(c + 1) + c->len;
			at = memmem(c + 1, c->len, key, strlen(key));
			if (at)
				snprintf(out, room, "%.*s", (int)(end - at - (ptrdiff_t)strlen(key)), at + strlen(key));
		}
	log_reader_close(&reader);
	return at;
}

void meta_log_file(const char *key, const char *path)
{
	char text[4096 + 256];
	if (!strcmp(meta.last_key, key))
		return; /* the segments of a library are mapped one after the other */
	strncpy(meta.last_key, key, sizeof(meta.last_key) - 1);
	size_t len = (size_t)snprintf(text, sizeof(text), "key=%s\npath=%s\n", key, path) + 1;
	if (len > sizeof(text))
		rdb_fatal("%s: too long a path", path);
	if (meta.files_len + len > meta.files_cap) {
		size_t cap = meta.files_cap ? meta.files_cap * 2 : 65536;
		meta.files = grown(meta.files, meta.files_cap, cap);
		meta.files_cap = cap;
	}
	memcpy(meta.files + meta.files_len, text, len);
	meta.files_len += len;
	append_record(LOG_FILE, text, len - 1);
}

void meta_log_files(void)
{
	for (const char *p = meta.files; p && p < meta.files + meta.files_len; p += strlen(p) + 1)
		append_record(LOG_FILE, p, strlen(p));
}

int meta_each(int (*fn)(uint32_t kind, const char *text, size_t len, void *arg), void *arg)
{
	int rc = fn(LOG_META, meta.text, meta.len, arg);
	for (const char *p = meta.files; p && p < meta.files + meta.files_len && !rc; p += strlen(p) + 1)
		rc = fn(LOG_FILE, p, strlen(p), arg);
	return rc;
}
