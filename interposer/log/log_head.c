#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/crc32c.h"
#include "base/io.h"
#include "log/log_head.h"
#include "log/meta.h"
#include "log/segment_header.h"
#include "base/private_file.h"
#include "base/table.h"

static int add_record(uint32_t kind, const char *text, size_t len, void *arg)
{
	static const uint8_t zeros[8];
	struct table *t = arg;
	size_t pad = (8 - len % 8) % 8, at = t->len;
	struct log_chunk chunk = {.len = (uint32_t)len, .note = RDB_NOTE_TEXT};
	struct log_record rec = {
		.size = (uint32_t)(sizeof(rec) + sizeof(chunk) + len + pad),
		.not_repeat = UINT32_MAX,
		.kind = (uint16_t)kind,
	};
	uint32_t crc = crc32c(0, (uint8_t *)&rec + 16, sizeof(rec) - 16);
	crc = crc32c_data(crc32c(crc, &chunk, sizeof(chunk)), text, len);
	rec.check = crc32c(crc, zeros, pad);
	int rc = table_add(t, &rec, sizeof(rec));
	if (!rc)
		rc = table_add(t, &chunk, sizeof(chunk));
	if (!rc)
		rc = table_add(t, text, len);
	if (!rc)
		rc = table_add(t, zeros, pad);
	if (rc)
		t->len = at;
	return rc;
}

int log_head_write(uint64_t first_event)
{
	char path[4096], temp[4096];
	struct table t = {0};
	const struct log_segment_header h = segment_header(0, first_event);
	if ((size_t)snprintf(path, sizeof(path), "%s/log-000000.seg", lower.opt.dir) >= sizeof(path) ||
	    (size_t)snprintf(temp, sizeof(temp), "%s/log-000000.part", lower.opt.dir) >= sizeof(temp))
		return -ENAMETOOLONG;
	int rc = table_add(&t, &h, sizeof(h));
	if (!rc)
		rc = meta_each(add_record, &t);
	int fd = rc ? rc : private_create(AT_FDCWD, temp, O_WRONLY | O_TRUNC);
	if (fd < 0) {
		table_drop(&t);
		return fd;
	}
	rc = io_write_all(fd, t.base, t.len, 0, 1 << 20);
	rc = private_publish(fd, rc, temp, path);
	table_drop(&t);
	return rc;
}
