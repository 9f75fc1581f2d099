/* Memory in the upper half for what callbacks are given (host.h): plug-ins ask for it while a call is carried out. */
#pragma once
#include <stddef.h>
#include "crossing/event.h"

void *scratch(unsigned slot, size_t len);
/* The call is over. */
void scratch_free_all(const struct event *call);
