#pragma once

/* Can the recording in `dir` be replayed on this CPU?  0, or -ENOEXEC (said on stderr). */
int cpu_check_recording(const char *dir);
