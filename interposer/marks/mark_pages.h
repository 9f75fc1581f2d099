/* Memory around a mark: the pages that its words, registers and stack point to.  What changes too seldom for the mark's
 * words, such as a count of a few calls up or of an object, is likely to be there.  A stop at a candidate looks at
 * these pages last. */
#pragma once
#include <stdbool.h>
#include "marks/mark.h"

/* While recording, once everything else of the mark is known. */
void mark_pages_take(struct mark *m);
/* True: the pages are as they were. */
bool mark_pages_same(const struct mark *m);
