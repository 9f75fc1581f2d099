/* Looking at and changing upper memory from inside, without ever faulting.
 *
 * Two ways: through /proc/self/mem (about 0.8 us, any page, also read-only text), and directly once
 * a page is known to be there.  Only an event can change mappings, so that knowledge holds until
 * upper_changed().
 */
#ifndef RDB_UPPER_MEMORY_H
#define RDB_UPPER_MEMORY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Opens /proc/self/mem: once, and again in each forked child (it is bound to one address space).
 * 0 or -errno. */
int upper_open(void);
void upper_close(void);

/* For this process as it is now, whatever happened before: upper_readable() and upper_writable() need no
 * more than this. */
void upper_here(void);
/* The same, and upper_read() and upper_write() work, after a fork as well.  0 or -errno. */
int upper_ready(void);

/* Bytes read or written, from the start, before the first byte that is not there. */
size_t upper_read(uint64_t addr, void *buf, size_t len);
size_t upper_write(uint64_t addr, const void *buf, size_t len);

/* May upper code itself read / write these bytes now?  Then a plain load or store does not fault. */
bool upper_readable(uint64_t addr, size_t len);
bool upper_writable(uint64_t addr, size_t len);

/* If set: asked when a page may not be read (or written to).  True: now it may. */
extern bool (*upper_refused)(uint64_t addr, bool write);

/* An event may have changed mappings. */
void upper_changed(void);

#endif
