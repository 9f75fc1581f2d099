/* What a process has ready of the open files that it shares with others of its tree. */
#ifndef RDB_TREE_SHARE_H
#define RDB_TREE_SHARE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TREE_FDS = 256, TREE_OWNED = 64, TREE_BORN = 128 };

/* Handed on to the program that takes this one's place, and to children. */
struct tree_fds {
	uint32_t n, nowned, nborn;
	int32_t fd[TREE_FDS];
	/* whose contents this process fills in: pipes, and eventfds, where both are one */
	struct {
		uint32_t number;
		int32_t read_end, write_end;
	} owned[TREE_OWNED];
	/* of a restarted branch: what its processes shared when it began (tree_born.h); the copy, or -1 */
	struct {
		uint32_t number;
		int32_t fd[2], copy;
	} born[TREE_BORN];
};
void tree_share_fds(struct tree_fds *out);
void tree_share_inherit(const struct tree_fds *in);
const struct tree_fds *tree_share_all(void);
/* A descriptor that stays, through the programs and children that come; those of a shared open file, of which this
 * process fills what was in it, first of all with these bytes. */
int tree_share_ready(int fd);
void tree_share_born(uint32_t number, const int fd[2], int copy);
void tree_share_own(uint32_t number, int read_end, int write_end);
void tree_share_did(uint32_t number, const void *bytes, size_t len);
/* What this process has done to a direction of a connection (tree_sockets.h); what all have left in it, at the cut. */
void tree_stream_moved(uint32_t number, const void *bytes, uint64_t len, bool writing);
size_t tree_stream_left(uint32_t number, uint8_t **whole, uint8_t **left);
/* In a child: all of that is its parent's to fill. */
void tree_share_in_child(void);
/* They stay open in the next program. */
void tree_share_keep(void);

#endif
