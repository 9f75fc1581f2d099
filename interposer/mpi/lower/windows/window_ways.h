/* Whether a call publishes the program's stores before it (WINDOW_OUT: other ranks may rely on them afterwards), and
 * takes data of others after it (WINDOW_IN: the program may rely on it), if there is too much memory to do both at each
 * call.  Calls that are not in the table do both. */
#pragma once

enum window_way { WINDOW_OUT = 1, WINDOW_IN = 2 };

/* A sum of these. */
unsigned window_way(unsigned index);
