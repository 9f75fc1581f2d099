/* A plug-in of qemu that counts the instructions a machine executes: from a mark that its program executes to the
 * next (verbs_turns.c), then written to the file `out`, a line for each mark.  qemu's plug-in API, version 1
 * (qemu-plugin.h, which Debian's packages do not hold).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info;
enum { NO_REGISTERS, ADD_U64 = 0 };

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, void (*)(plugin_id, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *, int op, void *, uint64_t);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, void (*)(unsigned, void *), int flags, void *);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);

static const char mark[] = "\x0f\x1f\x84\x00\x72\x64\x62\x2e"; /* nopl 0x2e626472(%rax,%rax) */
static uint64_t executed; /* the machine has one processor */
static char out[4096];

static void marked(unsigned cpu, void *arg)
{
	FILE *f = fopen(out, "a");
	(void)cpu, (void)arg;
	if (f) {
		fprintf(f, "%lu\n", executed);
		fclose(f);
	}
	executed = 0;
}

static void translated(plugin_id id, struct qemu_plugin_tb *block)
{
	const size_t n = qemu_plugin_tb_n_insns(block);
	(void)id;
	qemu_plugin_register_vcpu_tb_exec_inline(block, ADD_U64, &executed, n);
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(block, i);
		if (qemu_plugin_insn_size(insn) == sizeof(mark) - 1 &&
		    !memcmp(qemu_plugin_insn_data(insn), mark, sizeof(mark) - 1))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, marked, NO_REGISTERS, NULL);
	}
}

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

__attribute__((visibility("default"))) int qemu_plugin_install(plugin_id id, const struct qemu_info *info, int argc,
							       char **argv)
{
	(void)info;
	for (int i = 0; i < argc; i++)
		if (!strncmp(argv[i], "out=", 4))
			snprintf(out, sizeof(out), "%s", argv[i] + 4);
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
