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
#include "interface/agent.h"
#include "base/lower.h"
#include "replay/payload.h"
#include "replay/replica.h"

struct message {
	uint64_t event, from;
	struct rdb_note_payload note;
	uint32_t thread;
	bool delivered;
	char *dir;
};

static struct {
	struct message *all; /* by event */
	size_t count, next;
	volatile struct deliver_state *state;
} deliver;

/* 0, or -EINVAL: the line is no message. */
static int take_line(char *line, struct message *m)
{
	unsigned long event, from, at, offset;
	int dir = 0;
	if (sscanf(line, "%lu %u %lu %lu %lu %u %u %n", &event, &m->thread, &from, &at, &offset, &m->note.len,
		   &m->note.check, &dir) != 7 ||
	    !dir)
		return -EINVAL;
	m->event = event;
	m->from = from;
	m->note.at = at;
	m->note.offset = offset;
	m->dir = strdup(line + dir);
	return m->dir ? 0 : -ENOMEM;
}

static int share_state(char *line)
{
	char *path;
	const unsigned long slot = strtoul(line, &path, 10);
	int fd = open(path + (*path == ' '), O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	struct deliver_state *all = mmap(NULL, (slot + 1) * sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (all == MAP_FAILED)
		return -errno;
	deliver.state = all + slot;
	return 0;
}

int deliver_begin(void)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t n;
	int rc = 0;
	FILE *list = fopen(lower.opt.deliver, "re");
	if (!list)
		return -errno;
	while (!rc && (n = getline(&line, &room, list)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = 0;
		if (!deliver.state) {
			rc = share_state(line);
			continue;
		}
		struct message *grown = reallocarray(deliver.all, deliver.count + 1, sizeof(*grown));
		rc = grown ? 0 : -ENOMEM;
		if (rc)
			break;
		deliver.all = grown;
		deliver.all[deliver.count] = (struct message){0};
		rc = take_line(line, &deliver.all[deliver.count++]);
	}
	free(line);
	fclose(list);
	/* whoever waits would wait for ever without the process that watches over it */
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	return rc || deliver.state ? rc : -EINVAL;
}

/* 0, or -EBADMSG: memory has other bytes than the message. */
static int deliver_one(struct message *m)
{
	struct agent_asked asked;
	uint64_t from = m->from;
	if (!from && replica_asked(&asked) && asked.nargs)
		from = asked.args[0];
	int rc = payload_deliver(m->dir, &m->note, from);
	if (rc && rc != -EBADMSG) {
		rdb_warn("%s: a message cannot be written: %s", m->dir, strerror(-rc));
		_exit(5);
	}
	m->delivered = !rc;
	deliver.state->delivered += !rc;
	return rc;
}

void deliver_taking(enum log_kind kind, uint32_t nr, const struct log_record *rec)
{
	const uint64_t number = lower.event + 1;
	(void)kind, (void)nr, (void)rec;
	for (; deliver.next < deliver.count && deliver.all[deliver.next].event <= number; deliver.next++) {
		struct message *m = &deliver.all[deliver.next];
		/* those of earlier events: before the image that this replay began with */
		if (m->event < number || m->delivered || !deliver_one(m))
			continue;
		rdb_warn("rank %d sends other bytes at event %lu than were received", lower.opt.rank,
			 (unsigned long)number);
		_exit(5);
	}
}

/* A thread may stand in a call whose event, its end, comes later.  What it sends there is in memory by now: the next
 * message of each thread is tried. */
static void deliver_early(void)
{
	uint32_t tried = 0; /* threads 1 to 31; of others all messages are tried, which only costs time */
	for (size_t i = deliver.next; i < deliver.count; i++) {
		struct message *m = &deliver.all[i];
		if (!m->thread || m->delivered)
			continue;
		if (m->thread < 32 && tried >> m->thread & 1)
			continue;
		if (deliver_one(m) && m->thread < 32)
			tried |= 1u << m->thread;
	}
}

void deliver_awaits(void)
{
	static const struct timespec a_little = {.tv_nsec = 200000};
	if (deliver.state->turn % 2 == 0) {
		deliver.state->turn++;
		deliver_early();
	}
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
	return deliver.count && deliver.all[deliver.count - 1].event > lower.event;
}
