/* What a program is started with (execve(2)). */
#pragma once

/* Descriptors that read signals (signalfd(2)): these signals wait in the kernel from the start. */
void inherited_signalfds(void);
