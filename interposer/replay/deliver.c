#include "replay/deliver.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#include "base/descriptors.h"
#include "interface/agent.h"
#include "base/lower.h"
#include "replay/payload.h"
#include "replay/replica.h"

static struct {
	FILE *list;
	char *line; /* of the next message, after its event */
	size_t room;
	uint64_t event; /* at which that is sent; 0: there is none */
	volatile struct deliver_state *state;
} deliver;

/* The next line.  False: there is none. */
static bool advance(void)
{
	char *end;
	ssize_t n = getline(&deliver.line, &deliver.room, deliver.list);
	deliver.event = 0;
	if (n <= 0)
		return false;
	if (deliver.line[n - 1] == '\n')
		deliver.line[n - 1] = 0;
	deliver.event = strtoull(deliver.line, &end, 10);
	memmove(deliver.line, end, strlen(end) + 1);
	return true;
}

int deliver_begin(void)
{
	deliver.list = fopen(lower.opt.deliver, "re");
	if (!deliver.list || !advance())
		return errno ? -errno : -EINVAL;
	int fd = open(deliver.line + 1, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	struct deliver_state *all = mmap(NULL, (deliver.event + 1) * sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED,
					 fd, 0);
	close(fd);
	if (all == MAP_FAILED)
		return -errno;
	deliver.state = all + deliver.event;
	/* whoever waits would wait for ever without the process that watches over it */
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	advance();
	return 0;
}

static void deliver_one(uint64_t number)
{
	struct rdb_note_payload note = {0};
	struct agent_asked asked;
	unsigned long from, at, offset;
	int dir = 0;
	if (sscanf(deliver.line, " %lu %lu %lu %u %u %n", &from, &at, &offset, &note.len, &note.check, &dir) != 5 ||
	    !dir)
		rdb_fatal("%s: event %lu: not a message", lower.opt.deliver, (unsigned long)number);
	note.at = at;
	note.offset = offset;
	if (!from && replica_asked(&asked) && asked.nargs)
		from = asked.args[0];
	int rc = payload_deliver(deliver.line + dir, &note, from);
	if (rc == -EBADMSG)
		rdb_warn("rank %d sends other bytes at event %lu than were received", lower.opt.rank,
			 (unsigned long)number);
	else if (rc)
		rdb_warn("%s: a message cannot be written: %s", deliver.line + dir, strerror(-rc));
	if (rc)
		_exit(5);
	deliver.state->delivered++;
}

void deliver_taking(enum log_kind kind, uint32_t nr, const struct log_record *rec)
{
	const uint64_t number = lower.event + 1;
	(void)kind, (void)nr, (void)rec;
	while (deliver.event && deliver.event < number) /* before the image that this replay began with */
		advance();
	for (; deliver.event == number; advance())
		deliver_one(number);
}

void deliver_awaits(void)
{
	static const struct timespec a_little = {.tv_nsec = 200000};
	if (deliver.state->turn % 2 == 0)
		deliver.state->turn++;
	nanosleep(&a_little, NULL);
	deliver.state->looks++;
}

void deliver_goes_on(void)
{
	if (deliver.state->turn % 2)
		deliver.state->turn++;
}

bool deliver_more(void)
{
	return deliver.event > lower.event;
}
