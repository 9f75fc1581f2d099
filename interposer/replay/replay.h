/* Answering events from the log. */
#pragma once
#include "crossing/event.h"
#include "log/log_reader.h"

/* Opens the log at the place an image belongs to. */
int replay_open(unsigned segment, uint64_t off);
/* Time of the first event after the image, by the recording's clock. */
uint64_t replay_begun_ns(void);
/* Time of the last event. */
uint64_t replay_now_ns(void);
/* Time of the event before that. */
uint64_t replay_before_ns(void);
/* Moves the descriptors of the log away from the program's numbers: one that is closed at the end of a segment would leave
 * such a number to a library. */
int replay_descriptors_high(void);
/* Ends the replay: the world answers from here on. */
void replay_close(void);
/* Functions of struct mode: question, answer, call, signals.  replay_call_between() calls `asked` before the log
 * answers and `answered` after that; NULL: nothing. */
void replay_question(struct event *ev, ucontext_t *uc);
void replay_answer(struct event *ev, ucontext_t *uc);
void replay_call(struct event *ev, struct gate_frame *frame);
void replay_call_between(struct event *ev, struct gate_frame *frame, void (*asked)(const struct event *ev),
			 void (*answered)(const struct event *ev));
void replay_signals(ucontext_t *uc);
/* Goes to the next event's record, comparing hashes on the way (unless it is a replica). */
void replay_look_ahead(void);
/* The next recorded event is an upcall of this thread. */
bool replay_upcall_next(void);
/* Takes the upcall's record: applies its memory, gives function and arguments. */
void replay_take_upcall(uint64_t *fn, uint64_t args[6], ucontext_t *uc);
/* The next recorded event is a signal for this thread. */
bool replay_signal_next(void);
/* The next recorded event is a signal: takes it.  False if it is something else. */
bool replay_take_signal(int *sig, siginfo_t *info);
/* The mark, if the next recorded event is a PREEMPT of this thread; else NULL. */
struct mark;
const struct mark *replay_mark(void);
/* Record of the next event, or NULL. */
const struct log_record *replay_next_record(void);
/* The record of the event that is being answered. */
const struct log_record *replay_record(void);
/* Did the answer of that event write any of these bytes, perhaps with the values that they had already? */
bool replay_wrote(uint64_t addr, uint64_t len);
/* The program did something that the recording does not have: reports that and stops. */
void replay_diverged(ucontext_t *uc, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A file of the recording is damaged: reports that and stops. */
void replay_damaged(const char *what) __attribute__((noreturn));
/* The program has come to the end of the recording (the event it asks for is not there). */
void replay_ended(ucontext_t *uc);
/* The program exits. */
void replay_exits(int code, ucontext_t *uc);
/* A fault of the program in replay: the end if the recording ends with it. */
void replay_fault(int sig, siginfo_t *info, ucontext_t *uc);
