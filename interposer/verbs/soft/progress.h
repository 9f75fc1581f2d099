/* Doing what there is to do, without waiting. */
#ifndef RDB_HCA_PROGRESS_H
#define RDB_HCA_PROGRESS_H
#include "hca.h"

int hca_progress(void);
/* The same for one who is going to ask again soon: acknowledgements may wait for what is sent next. */
void hca_progress_for_poll(void);
/* Sends what waits. */
void hca_progress_output(void);
/* Watches a descriptor; `conn` NULL: the listener. */
int hca_watch(int fd, void *conn, bool add, bool output);
/* A queue pair waits until `due`. */
void hca_timer_set(struct list *timer, uint64_t *at, uint64_t due);

/* io_thread.c */
int hca_thread_start(void);
void hca_thread_stop(void);
/* In a child process, where it does not run. */
void hca_thread_forget(void);
/* progress() was called. */
void hca_thread_seen(void);
/* Whether the thread may be asleep until a socket wakes it. */
bool hca_thread_asleep(void);
/* The earliest time at which progress() is due; 0: none. */
void hca_thread_deadline(uint64_t at);
/* So early at the latest. */
void hca_thread_due(uint64_t at);
/* Answers wait to be sent. */
void hca_thread_acks(bool waiting);

#endif
