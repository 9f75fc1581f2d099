/* Reads and writes upper memory from inside, without ever faulting.
 *
 * Two ways: through /proc/self/mem (about 0.8 us, any page, also read-only text), and directly once a page is known to
 * be accessible.  Only an event can change mappings, so that knowledge is valid until upper_changed().
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Opens /proc/self/mem: once, and again in each forked child (the file is bound to one address space). 0 or -errno. */
int upper_open(void);
void upper_close(void);

/* Prepares upper_readable() and upper_writable() for the present process. */
void upper_here(void);
/* Likewise for upper_read() and upper_write(), also after a fork. 0 or -errno. */
int upper_ready(void);

/* Return how many bytes were read or written, up to the first that is not mapped. */
size_t upper_read(uint64_t addr, void *buf, size_t len);
size_t upper_write(uint64_t addr, const void *buf, size_t len);

/* Can upper code itself read / write these bytes now?  Then a plain load or store does not fault. */
bool upper_readable(uint64_t addr, size_t len);
bool upper_writable(uint64_t addr, size_t len);

/* If set: called for a page that cannot be read (or written).  True: now it can. */
extern bool (*upper_refused)(uint64_t addr, bool write);

/* Call after an event, which may have changed mappings. */
void upper_changed(void);
