#include "restart/process/clocks.h"
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include "task/clock_ids.h"
#include "base/monotonic.h"
#include "base/user.h"
#include "interface/gate.h"
#include "log/log_reader.h"
#include "log/meta.h"

static struct {
	struct processor_time self, children;
	int64_t sum; /* of self, by its clock */
} told;

static int64_t ns_of(struct timeval t)
{
	return t.tv_sec * 1000000000 + t.tv_usec * 1000;
}

/* By the kernel. */
static struct processor_time used(int whose)
{
	struct rusage r;
	getrusage(whose, &r);
	return (struct processor_time){ns_of(r.ru_utime), ns_of(r.ru_stime)};
}

static struct processor_time plus(struct processor_time a, struct processor_time b)
{
	return (struct processor_time){a.user + b.user, a.system + b.system};
}

static struct processor_time minus(struct processor_time a, struct processor_time b)
{
	return (struct processor_time){a.user - b.user, a.system - b.system};
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t ticks_now(void)
{
	return raw_syscall(SYS_times, 0, 0, 0, 0, 0, 0);
}

/* The kernel's clocks may be others than then. */
static void go_on(const struct clocks_then *then, int64_t real)
{
	char which[CLOCKS_WHICH];
	const int64_t passed = larger(real - then->real, 0);
	struct clocks *c = &lower.clocks;
	clocks_which(which);
	c->monotonic = then->known.monotonic - then->monotonic;
	c->boot = then->known.boot - then->boot;
	c->ticks = then->known.ticks - then->ticks;
	if (strcmp(which, then->which) != 0) {
		c->monotonic = then->known.monotonic + passed - (int64_t)monotonic_ns();
		c->boot = then->known.boot + passed - (int64_t)clock_ns(CLOCK_BOOTTIME);
		c->ticks = then->known.ticks + passed / CLOCKS_TICK - ticks_now();
	}
	lower.clocks_ahead = true;
}

/* ---- without a log ---- */

void clocks_look(struct clocks_then *then)
{
	const struct clocks *c = &lower.clocks;
	clocks_which(then->which);
	then->real = (int64_t)clock_ns(CLOCK_REALTIME);
	then->monotonic = (int64_t)monotonic_ns();
	then->boot = (int64_t)clock_ns(CLOCK_BOOTTIME);
	then->ticks = ticks_now();
	then->known = (struct clocks){
		.monotonic = then->monotonic + c->monotonic,
		.boot = then->boot + c->boot,
		.ticks = then->ticks + c->ticks,
		.self = plus(used(RUSAGE_SELF), c->self),
		.children = plus(used(RUSAGE_CHILDREN), c->children),
	};
}

void clocks_from(const struct clocks_then *then)
{
	lower.clocks.self = minus(then->known.self, used(RUSAGE_SELF));
	lower.clocks.children = minus(then->known.children, used(RUSAGE_CHILDREN));
	go_on(then, (int64_t)clock_ns(CLOCK_REALTIME));
}

/* ---- with a log ---- */

static void heard(struct processor_time *p, int64_t user, int64_t system)
{
	p->user = larger(p->user, user);
	p->system = larger(p->system, system);
}

static void heard_clock(clockid_t clock, int64_t ns)
{
	if (clock == CLOCK_THREAD_CPUTIME_ID)
		thread_self()->processor_told = ns;
	else if (clock_is_of_process(clock))
		told.sum = larger(told.sum, ns);
}

void clocks_answered(const struct log_record *rec)
{
	if (rec && rec->kind == LOG_HYPERCALL && rec->nr == RDB_FN(RDB_NS_CORE, RDB_CORE_CLOCK))
		heard_clock((clockid_t)log_args(rec)[0], rec->result);
}

void clocks_syscall(const struct event *ev)
{
	struct timespec now;
	struct rusage r;
	struct tms t;
	switch (ev->nr) {
	case SYS_clock_gettime:
		if (!user_read(&now, ev->args[1], sizeof(now)))
			heard_clock((clockid_t)ev->args[0], now.tv_sec * 1000000000 + now.tv_nsec);
		break;
	case SYS_getrusage:
		if (!user_read(&r, ev->args[1], sizeof(r)) && (int)ev->args[0] != RUSAGE_THREAD)
			heard((int)ev->args[0] == RUSAGE_SELF ? &told.self : &told.children, ns_of(r.ru_utime),
			      ns_of(r.ru_stime));
		break;
	case SYS_times:
		if (ev->args[0] && !user_read(&t, ev->args[0], sizeof(t))) {
			heard(&told.self, t.tms_utime * CLOCKS_TICK, t.tms_stime * CLOCKS_TICK);
			heard(&told.children, t.tms_cutime * CLOCKS_TICK, t.tms_cstime * CLOCKS_TICK);
		}
		break;
	}
}

static struct processor_time ahead(struct processor_time of, int whose)
{
	const struct processor_time now = used(whose);
	return (struct processor_time){larger(of.user - now.user, 0), larger(of.system - now.system, 0)};
}

void clocks_cut(uint64_t now_ns)
{
	struct clocks *c = &lower.clocks;
	struct clocks_then then = {0};
	char text[CLOCKS_WHICH + 128];
	c->self = ahead(told.self, RUSAGE_SELF);
	c->children = ahead(told.children, RUSAGE_CHILDREN);
	int64_t sum = 0; /* of its threads */
	for (struct thread *t = threads_first(); t; t = t->next) {
		sum += t->processor_told;
		t->processor_ahead = t->processor_told;
	}
	/* as if all of it had been user time */
	c->self.user = larger(c->self.user, larger(sum, told.sum) - used(RUSAGE_SELF).user);
	lower.clocks_ahead = true;
	if (meta_find(lower.opt.restart, "\"clocks\":\"", text, sizeof(text)) &&
	    sscanf(text, "%63s %ld %ld %ld %ld %ld %ld %ld", then.which, &then.real, &then.monotonic, &then.boot,
		   &then.ticks, &then.known.monotonic, &then.known.boot, &then.known.ticks) == 8)
		go_on(&then, larger((int64_t)clock_ns(CLOCK_REALTIME), (int64_t)now_ns));
}
