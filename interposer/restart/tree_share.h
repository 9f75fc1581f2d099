/* What a process has ready of the open files that it shares with others of its tree. */
#ifndef RDB_TREE_SHARE_H
#define RDB_TREE_SHARE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TREE_FDS = 256, TREE_BORN = 128 };

/* Handed on to the program that takes this one's place, and to children. */
struct tree_fds {
	uint32_t n, nborn;
	int32_t fd[TREE_FDS];
	/* of a restarted branch: what its processes shared when it began (tree_born.h) */
	struct {
		uint32_t number;
		int32_t fd[3]; /* and the copy */
	} born[TREE_BORN];
};
void tree_share_fds(struct tree_fds *out);
void tree_share_inherit(const struct tree_fds *in);
const struct tree_fds *tree_share_all(void);
/* A descriptor that stays, through the programs and children that come. */
int tree_share_ready(int fd);
void tree_share_born(uint32_t number, const int fd[2], int copy);
/* Such a one, of a pipe that was opened by the number (/dev/fd) of another end. */
struct opened;
int tree_pipe_again(const struct opened *f, int pipe);
/* What a branch began with; what this process has done to a direction of a connection (tree_sockets.h); what all have left in it, at the cut. */
void tree_share_did(uint32_t number, const void *bytes, size_t len);
void tree_stream_moved(uint32_t number, const void *bytes, uint64_t len, bool writing);
size_t tree_stream_left(uint32_t number, uint8_t **whole, uint8_t **left);
/* In a child. */
void tree_share_in_child(void);
/* They stay open in the next program. */
void tree_share_keep(void);

#endif
