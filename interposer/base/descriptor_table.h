/* The length of the table of descriptors that the kernel would have for the program without rdb, whose own descriptors
 * have high numbers.  select(2) ignores what lies behind it; proc_pid_status(5), FDSize.
 *
 * A table grows with the highest descriptor that it has ever held.  Known are those open now, and at each time it was
 * asked for. */
#pragma once

/* Before rdb has descriptors. */
void descriptor_table_begin(void);
/* A child has a table of its own, as long as it needs. */
void descriptor_table_in_child(void);
int descriptor_table(void);
