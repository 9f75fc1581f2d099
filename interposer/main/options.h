/* The command line of rdb-exec (options.def), which becomes lower.opt. */
#pragma once

/* A wrong command line ends the process with 2 and the usage; lack of memory with 125. */
void options_parse(int argc, char **argv);

/* Paths stay right when the program changes its directory. */
void options_make_absolute(void);
