#include "main/cpu_check.h"
#include <stdbool.h>
#include <string.h>
#include "base/cpu_features.h"
#include "base/lower.h"
#include "log/log_reader.h"

/* Finds what meta.c writes behind "cpu": */
static bool find(const char *text, size_t len, char out[CPU_TEXT])
{
	static const char key[] = "\"cpu\":{";
	const char *at = memmem(text, len, key, sizeof(key) - 1);
	if (!at)
		return false;
	at += sizeof(key) - 2;
	size_t n = len - (size_t)(at - text);
	if (n >= CPU_TEXT)
		n = CPU_TEXT - 1;
	memcpy(out, at, n);
	out[n] = 0;
	return true;
}

static bool read_recorded(const char *dir, char out[CPU_TEXT])
{
	struct log_reader reader;
	bool found = false;
	if (log_reader_open(&reader, dir))
		return false; /* the reader of the log says why */
	const struct log_record *rec = log_reader_next(&reader);
	if (rec && rec->kind == LOG_META)
		for (const struct log_chunk *c = NULL; !found && (c = log_chunk_next(rec, c));)
			found = find((const char *)(c + 1), c->len, out);
	log_reader_close(&reader);
	return found;
}

int cpu_check_recording(const char *dir)
{
	char then[CPU_TEXT], why[CPU_WHY];
	const int suits = read_recorded(dir, then) ? cpu_suits(then, why) : 0;
	if (suits)
		rdb_warn("%s: %s", dir, why);
	return suits < 0 ? suits : 0;
}
