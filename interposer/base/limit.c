#include "base/limit.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool limit_parse(const char *text, const char *word, struct limit *out)
{
	static const struct {
		const char *name;
		enum limit_unit unit;
		uint64_t factor;
	} units[] = {
		{"", LIMIT_COUNT, 1},           {"KB", LIMIT_BYTES, 1ul << 10},     {"MB", LIMIT_BYTES, 1ul << 20},
		{"GB", LIMIT_BYTES, 1ul << 30}, {"s", LIMIT_SECONDS, 1000000000ul},
	};
	char *end;
	errno = 0;
	unsigned long n = strtoul(text, &end, 10);
	if (errno || end == text || *text < '0' || *text > '9' || !n || n > 1ul << 30)
		return false;
	if (!strcmp(end, word))
		end = "";
	for (unsigned i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (!strcmp(end, units[i].name)) {
			*out = (struct limit){units[i].unit, n * units[i].factor, text};
			return true;
		}
	return false;
}
