/* Two threads wait for each other in a loop without system calls: stopped in it each time, wherever they are. */
#include <pthread.h>
#include <stdint.h>

enum { TURNS = 12 };

volatile uint64_t turn;

/* Nothing changes from one round to the next. */
void spin(volatile uint64_t *at, uint64_t until);
__asm__(".text\n.globl spin, spin_top\n.type spin, @function\n"
	"spin: .cfi_startproc\n"
	"spin_top: mov (%rdi), %rax\n"
	"nopl 0x0(%rax,%rax,1)\nnopl 0x0(%rax,%rax,1)\nnopl 0x0(%rax,%rax,1)\nnopl 0x0(%rax,%rax,1)\n"
	"cmp %rsi, %rax\n"
	"jne spin_top\n"
	"ret\n"
	".cfi_endproc\n.size spin, . - spin\n");

static void *other(void *unused)
{
	for (int i = 0; i < TURNS; i++) {
		spin(&turn, 1);
		turn = 0;
	}
	return unused;
}

int main(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, other, NULL))
		return 1;
	for (int i = 0; i < TURNS; i++) {
		turn = 1;
		spin(&turn, 0);
	}
	pthread_join(thread, NULL);
	return 0;
}
