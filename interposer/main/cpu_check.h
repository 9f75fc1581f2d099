#ifndef RDB_CPU_CHECK_H
#define RDB_CPU_CHECK_H

/* Can the recording in `dir` be replayed on this CPU?  0, or -ENOEXEC (said on stderr). */
int cpu_check_recording(const char *dir);

#endif
