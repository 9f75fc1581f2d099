#pragma once
#include "image/image.h"

/* struct image_threads */
int threads_take(struct table *table, const ucontext_t *uc);
int threads_put(const struct image_thread *t, unsigned count, struct context *running);
