/* One round of progress: timers, output, input. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include "conn.h"
#include "progress.h"

enum {
	FEW_CONNS = 4,    /* up to so many connections are read without asking epoll which are ready */
	LOOK_AROUND = 64, /* every so many calls epoll is asked anyway */
};

/* Takes a queue pair whose time has come out of the list. */
static struct hca_qp *take_due(uint64_t now)
{
	list_each(struct hca_qp, qp, &hca.timers, sq.timer) {
		if (qp->sq.due > now)
			continue;
		list_remove(&qp->sq.timer);
		return qp;
	}
	return NULL;
}

static int timers_run(uint64_t now)
{
	struct hca_qp *qp;
	int done = 0;
	/* from the start each time: one queue pair's end may take others out of the list */
	for (; (qp = take_due(now)); done++)
		hca_sq_timer(qp);
	list_each(struct hca_conn, c, &hca.conns, link) {
		if (c->state < CONN_UP && c->deadline <= now)
			hca_conn_fail(c, NULL);
	}
	return done;
}

static void next_deadline(void)
{
	uint64_t first = 0;
	list_each(struct hca_qp, qp, &hca.timers, sq.timer) {
		uint64_t due = qp->sq.due;
		if (due != UINT64_MAX && (!first || due < first))
			first = due;
	}
	list_each(struct hca_conn, c, &hca.conns, link) {
		if (c->state < CONN_UP && (!first || c->deadline < first))
			first = c->deadline;
	}
	hca_thread_deadline(first);
}

static int event(struct hca_conn *c, uint32_t events)
{
	int error = 0;
	socklen_t len = sizeof(error);
	if (c->state == CONN_CONNECTING) {
		if (!(events & (EPOLLOUT | EPOLLERR | EPOLLHUP)))
			return 0;
		if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) || error)
			hca_conn_fail(c, NULL);
		else if (!hca_watch(c->fd, c, false, false))
			hca_auth_begin(c);
		return 1;
	}
	if (c->out.blocked && (events & EPOLLOUT))
		hca_conn_touch(c);
	return events & (EPOLLIN | EPOLLERR | EPOLLHUP) ? hca_conn_read(c) : 0;
}

static int input(bool polling)
{
	struct epoll_event events[64];
	int done = 0;
	/* Only polls take the shortcut: other calls may have been made because of a new connection. */
	if (polling && hca.nconns <= FEW_CONNS && !hca.nstrangers && hca.calls % LOOK_AROUND) {
		list_each(struct hca_conn, c, &hca.conns, link)
			done += hca_conn_read(c);
		return done;
	}
	int n = epoll_wait(hca.epoll, events, 64, 0);
	for (int i = 0; i < n; i++) {
		if (events[i].data.ptr)
			done += event(events[i].data.ptr, events[i].events);
		else
			hca_conn_accept();
	}
	return done;
}

/* Marks connections with held back acknowledgements or with output that the socket did not take. */
static void touch_waiting(void)
{
	list_each(struct hca_conn, c, &hca.conns, link) {
		if (!list_empty(&c->acks) || c->out.blocked)
			hca_conn_touch(c);
	}
	hca.acks_waiting = false;
}

static int run(bool polling)
{
	bool timed = !list_empty(&hca.timers) || hca.nstrangers;
	int done = 0;
	hca.calls++;
	if (timed)
		done += timers_run(hca_now());
	touch_waiting();
	hca_pump();
	done += input(polling);
	if (!polling)
		touch_waiting();
	hca_pump();
	/* Either the thread sees `acks` or we see that it is asleep and send: it sets `asleep` before it reads `acks`. */
	hca_thread_acks(hca.acks_waiting);
	if (hca.acks_waiting && hca_thread_asleep()) {
		touch_waiting();
		hca_pump();
		hca_thread_acks(false);
	}
	hca_conns_bury();
	if (timed || !list_empty(&hca.timers) || hca.nstrangers)
		next_deadline();
	hca_thread_seen();
	return done;
}

int hca_progress(void)
{
	return run(false);
}

void hca_progress_for_poll(void)
{
	run(true);
}

void hca_progress_output(void)
{
	touch_waiting();
	hca_pump();
}
