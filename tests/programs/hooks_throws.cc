// A callback that throws refuses the checkpoint.  argv: the file that it waits for.
#include <cstdio>
#include <stdexcept>
#include <unistd.h>
#include "rdb.h"

static int throws(void *) { throw std::runtime_error("not now"); }

int main(int, char **argv)
{
	rdb_on(RDB_BEFORE_CHECKPOINT, throws, nullptr);
	std::puts("there");
	std::fflush(stdout);
	while (access(argv[1], F_OK)) {
		rdb_safe_point();
		usleep(1000);
	}
	std::puts("over");
}
