#include "text/text_sections.h"
#include <elf.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { BATCH = 32, NEAR = 64 /* .init, .plt, .text: one stretch */ };

static bool is_elf(int fd, Elf64_Ehdr *h)
{
	return pread(fd, h, sizeof(*h), 0) == (ssize_t)sizeof(*h) && !memcmp(h->e_ident, ELFMAG, SELFMAG) &&
	       h->e_ident[EI_CLASS] == ELFCLASS64 && h->e_shentsize == sizeof(Elf64_Shdr) && h->e_shnum;
}

/* Reads the next batch of headers.  Returns how many; 0 if they cannot be read. */
static unsigned read_headers(int fd, const Elf64_Ehdr *h, unsigned from, Elf64_Shdr out[BATCH])
{
	const unsigned n = h->e_shnum - from < BATCH ? h->e_shnum - from : BATCH;
	const size_t bytes = n * sizeof(*out);
	return pread(fd, out, bytes, (off_t)(h->e_shoff + from * sizeof(*out))) == (ssize_t)bytes ? n : 0;
}

void text_sections(int fd, uint64_t offset, size_t len, void (*fn)(uint64_t from, uint64_t to, void *arg), void *arg)
{
	const uint64_t last = offset + len;
	uint64_t from = 0, to = 0; /* the stretch not yet reported */
	bool any = false;
	Elf64_Ehdr h;
	Elf64_Shdr batch[BATCH];
	unsigned n = 0;

	if (is_elf(fd, &h)) {
		for (unsigned i = 0; i < h.e_shnum && (i % BATCH || (n = read_headers(fd, &h, i, batch))); i++) {
			const Elf64_Shdr *s = &batch[i % BATCH];
			if (!(s->sh_flags & SHF_EXECINSTR) || s->sh_type == SHT_NOBITS || !s->sh_size)
				continue;
			any = true;
			uint64_t begin = s->sh_offset < offset ? offset : s->sh_offset;
			uint64_t end = s->sh_size > last || s->sh_offset > last - s->sh_size
					       ? last
					       : s->sh_offset + s->sh_size;
			if (begin >= end)
				continue;
			if (to && begin >= to && begin - to <= NEAR) {
				to = end;
				continue;
			}
			if (to)
				fn(from, to, arg);
			from = begin;
			to = end;
		}
	}
	if (!any) {
		from = offset;
		to = last;
	}
	if (to)
		fn(from, to, arg);
}
