#pragma once
#include "lower/objects/bytes.h"

/* The highest number that the program has added; 0: none. */
int error_codes_last(void);
/* Beside an image, and in a restart. */
void put_error_codes(struct bytes *out);
void get_error_codes(struct bytes *in);
