/* The modes in which the log answers; restart/live.c has one more. */
#include "base/lower.h"

const struct mode mode_verify = {.replays = true};
const struct mode mode_expand = {.replays = true, .expands = true};
const struct mode mode_replica = {.replays = true, .serves = true};
