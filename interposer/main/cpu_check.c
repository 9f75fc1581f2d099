#include "main/cpu_check.h"
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "base/cpu_features.h"
#include "base/lower.h"
#include "log/log_reader.h"

struct recorded {
	struct cpu cpu;
	unsigned shown;
};

/* Only what meta.c writes: "cpu":{"vendor":"..","level":N,"shown":N,"xsave_bytes":N} */
static bool parse(const char *text, size_t len, struct recorded *out)
{
	static const char key[] = "\"cpu\":{\"vendor\":\"";
	const char *at = memmem(text, len, key, sizeof(key) - 1);
	char copy[160];
	if (!at)
		return false;
	at += sizeof(key) - 1;
	size_t n = len - (size_t)(at - text);
	if (n >= sizeof(copy))
		n = sizeof(copy) - 1;
	memcpy(copy, at, n);
	copy[n] = 0;
	return sscanf(copy, "%12[^\"]\",\"level\":%u,\"shown\":%u,\"xsave_bytes\":%u", out->cpu.vendor, &out->cpu.level,
		      &out->shown, &out->cpu.xsave_bytes) == 4;
}

static bool read_recorded(const char *dir, struct recorded *out)
{
	struct log_reader reader;
	bool found = false;
	if (log_reader_open(&reader, dir))
		return false; /* whoever reads the log itself says why */
	const struct log_record *rec = log_reader_next(&reader);
	if (rec && rec->kind == LOG_META)
		for (const struct log_chunk *c = NULL; !found && (c = log_chunk_next(rec, c));)
			found = parse((const char *)(c + 1), c->len, out);
	log_reader_close(&reader);
	return found;
}

int cpu_check_recording(const char *dir)
{
	struct recorded then = {0};
	struct cpu here;
	if (!read_recorded(dir, &then))
		return 0;
	cpu_describe(&here);
	if (then.shown > here.level) {
		rdb_warn("%s: recorded with instructions up to x86-64-v%u, this CPU has x86-64-v%u; replay it on a "
			 "newer one, or record with --cpu=x86-64-v%u",
			 dir, then.shown, here.level, here.level);
		return -ENOEXEC;
	}
	if (strcmp(then.cpu.vendor, here.vendor) || then.cpu.xsave_bytes != here.xsave_bytes)
		rdb_warn("%s: recorded on another kind of CPU (%s, %u bytes of state; here %s, %u): approximate "
			 "reciprocals and signal frames may differ",
			 dir, then.cpu.vendor, then.cpu.xsave_bytes, here.vendor, here.xsave_bytes);
	return 0;
}
