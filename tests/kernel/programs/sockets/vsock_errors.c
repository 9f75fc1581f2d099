/* vsock(7): without a peer a connection fails, an address needs its family, and a port is given out. */
#include "../observe.h"
#include <sys/socket.h>
#include <linux/vm_sockets.h>

int main(void)
{
	struct sockaddr_vm name = {.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_ANY, .svm_port = VMADDR_PORT_ANY};
	int fd = socket(AF_VSOCK, SOCK_STREAM, 0);
	socklen_t length = sizeof name;

	if (fd < 0)
		skip("AF_VSOCK");
	SAY(bind(fd, (void *)&name, sizeof name));
	SAY(getsockname(fd, (void *)&name, &length));
	printf("family %d port given %d\n", name.svm_family, name.svm_port != VMADDR_PORT_ANY);
	SAY(bind(fd, (void *)&name, 3));
	name.svm_family = AF_INET;
	SAY(bind(socket(AF_VSOCK, SOCK_STREAM, 0), (void *)&name, sizeof name));
	SAY(accept(fd, NULL, NULL));
	SAY(socket(AF_VSOCK, SOCK_RAW, 0));
	return 0;
}
