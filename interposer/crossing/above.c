#include "crossing/schedule.h"
#include "crossing/source.h"

const struct source *source;
const struct schedule *schedule;
