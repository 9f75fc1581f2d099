/* quotactl(2): errors for commands, devices and kinds that are not there. */
#include "../observe.h"
#include <sys/quota.h>

int main(void)
{
	struct dqblk quota;

	memset(&quota, 7, sizeof quota);
	SAY(quotactl(QCMD(Q_GETQUOTA, USRQUOTA), "absent", 0, (char *)&quota));
	SAY(quotactl(QCMD(Q_GETQUOTA, USRQUOTA), "/proc/self/status", 0, (char *)&quota));
	SAY(quotactl(QCMD(Q_GETQUOTA, 77), "absent", 0, (char *)&quota));
	SAY(quotactl(QCMD(0x7fff, USRQUOTA), "absent", 0, (char *)&quota));
	SAY(quotactl(QCMD(Q_GETQUOTA, USRQUOTA), NULL, 0, (char *)&quota));
	SAY(quotactl(QCMD(Q_SYNC, USRQUOTA), NULL, 0, NULL));
	printf("%d\n", (int)((char *)&quota)[0]);
	return 0;
}
