#include "base/user.h"

struct range {
	uint64_t at, last;
};

/* An atomic OR with 0: other threads may write to the same bytes meanwhile. */
static void touch(void *arg)
{
	const struct range *r = arg;
	for (uint64_t at = r->at; at < r->last; at = (at | (RDB_PAGE - 1)) + 1)
		__atomic_fetch_or((char *)at, 0, __ATOMIC_SEQ_CST);
	__atomic_fetch_or((char *)r->last, 0, __ATOMIC_SEQ_CST);
}

bool user_writable(uint64_t at, size_t len)
{
	struct range r = {at, at + len - 1};
	return rdb_is_upper_range(at, len) && guarded_call(touch, &r);
}
