/* Notes both ends of a socket, for restarts: the kernel knows them only while the socket exists. */
#include "answer/socket_notes.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define A(i) (ev->args[i])

static uint16_t address(int fd, int (*ask)(int, struct sockaddr *, socklen_t *), uint8_t out[RDB_ADDRESS_BYTES])
{
	struct sockaddr_storage at;
	socklen_t len = sizeof(at);
	if (ask(fd, (struct sockaddr *)&at, &len) || len > RDB_ADDRESS_BYTES)
		return 0;
	memcpy(out, &at, len);
	return (uint16_t)len;
}

void note_socket(struct event *ev)
{
	const bool accepts = ev->nr == SYS_accept || ev->nr == SYS_accept4, connects = ev->nr == SYS_connect;
	if (!accepts && !connects && ev->nr != SYS_listen)
		return;
	if (ev->result < 0 && !(connects && ev->result == -EINPROGRESS))
		return;
	const int fd = (int)(accepts ? ev->result : (int64_t)A(0));
	struct ucred peer;
	socklen_t len = sizeof(peer);
	struct rdb_note_socket note = {.pid = (int32_t)lower.pid};
	if (accepts)
		note.pid = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) ? 0 : peer.pid;
	note.local_len = address(fd, getsockname, note.local);
	note.peer_len = address(fd, getpeername, note.peer);
	if (connects && !note.peer_len && A(2) <= sizeof(note.peer)) {
		note.peer_len = (uint16_t)A(2);
		memcpy(note.peer, (const void *)A(1), A(2));
	}
	event_note(ev, RDB_NOTE_SOCKET, &note, sizeof(note));
}
