/* The smallest program with a recording worth damaging: no libc, a few pages, a dozen calls. */
static char data[8192];

static long call(long number, long a, long b, long c)
{
	long result;
	__asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return result;
}

void _start(void)
{
	static const char path[] = "/proc/self/comm";
	for (int i = 0; i < (int)sizeof(data); i++)
		data[i] = (char)(i * 7 + 1);
	for (int round = 0; round < 3; round++) {
		long fd = call(2 /* open */, (long)path, 0, 0);
		call(0 /* read */, fd, (long)data + 100 * round, 64);
		call(3 /* close */, fd, 0, 0);
		call(39 /* getpid */, round, 0, 0);
	}
	call(231 /* exit_group */, data[3] == 'l' ? 3 : 4, 0, 0);
	__builtin_unreachable();
}
