/* Options of rdb-exec that it passes on to other processes of the job (main/options.def). */
#pragma once

enum { OPTIONS_MOST = 80, NUMBER_TEXT = 192 };

/* Receivers. */
enum {
	TO_EXEC = 1, /* the program that replaces this one by execve */
	TO_SPAWN = 2 /* processes that MPI_Comm_spawn starts */
};

/* Words of a command line, and buffers they point into (others point into lower.opt). */
struct handed_on {
	const char *words[2 * OPTIONS_MOST];
	char names[OPTIONS_MOST][24];
	char numbers[OPTIONS_MOST][NUMBER_TEXT];
};

/* Fills *out for the receivers `to`; returns the number of words. Set by options_parse(). */
extern unsigned (*options_hand_on)(unsigned to, struct handed_on *out);
