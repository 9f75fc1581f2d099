/* Progress: carries out all pending work without blocking. */
#pragma once
#include "hca.h"

int hca_progress(void);
/* The same for a caller that will soon call again: acknowledgements may wait for the next request. */
void hca_progress_for_poll(void);
/* Sends waiting output only. */
void hca_progress_output(void);

/* io_thread.c */
int hca_thread_start(void);
void hca_thread_stop(void);
/* In a forked child, where the thread does not run: closes its descriptors. */
void hca_thread_forget(void);
/* Tells the thread that progress() was called. */
void hca_thread_seen(void);
/* Whether the thread may be asleep until a socket or a time wakes it. */
bool hca_thread_asleep(void);
/* Sets the time at which progress() is due; 0: none. */
void hca_thread_deadline(uint64_t at);
/* Makes progress() due at `at`, unless it is due earlier. */
void hca_thread_due(uint64_t at);
/* Sets the timer of a send queue: *at = due. */
void hca_timer_set(struct list *timer, uint64_t *at, uint64_t due);
/* Tells the thread whether acknowledgements wait to be sent. */
void hca_thread_acks(bool waiting);
