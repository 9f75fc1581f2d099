/* Reading and writing memory of the program that may not be there: it is the program's to unmap. */
#ifndef RDB_GUARDED_COPY_H
#define RDB_GUARDED_COPY_H
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <ucontext.h>

/* memcpy.  How many bytes were copied, from the first on. */
size_t guarded_copy(void *to, const void *from, size_t len);
/* Calls fn(arg).  False: it met memory that is not there, and was left in the middle. */
bool guarded_call(void (*fn)(void *arg), void *arg);
/* A fault in the middle of one of these: it returns then.  First of all in a handler of SIGSEGV and SIGBUS. */
bool guarded_copy_faulted(ucontext_t *uc);

#endif
