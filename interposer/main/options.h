/* The command line of rdb-exec (options.def), which becomes lower.opt. */
#ifndef RDB_OPTIONS_H
#define RDB_OPTIONS_H

/* Ends the process with 2 and how it is used, or with 125, where it is wrong. */
void options_parse(int argc, char **argv);

/* Paths stay right when the program changes its directory. */
void options_make_absolute(void);

#endif
