#include <errno.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/if_tun.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include "answer/ioctls.h"
#include "answer/syscall_inputs.h"
#include "answer/syscall_outputs.h"
#include "answer/unknown_calls.h"

#define A(i) (ev->args[i])
#define P(i) ((void *)ev->args[i])
#define TYPE(req) ((req) >> 8 & 0xff)

/* Old requests, which do not encode direction and size: how many bytes they write at the third argument.
 * ioctl_list(2), asm-generic/ioctls.h, linux/sockios.h, linux/fs.h, linux/loop.h, linux/kd.h, linux/vt.h. */
static const struct {
	uint16_t first, last;
	uint16_t bytes;
} old_style[] = {
	{0x0001, 0x0002, 4},   /* FIBMAP, FIGETBSZ */
	{0x0301, 0x0301, 24},  /* HDIO_GETGEO */
	{0x07b9, 0x07b9, 4},   /* IOCTL_VM_SOCKETS_GET_LOCAL_CID: vsock(7) */
	{0x125d, 0x125d, 0},   /* BLKROSET */
	{0x125e, 0x125e, 4},   /* BLKROGET */
	{0x125f, 0x125f, 0},   /* BLKRRPART */
	{0x1260, 0x1260, 8},   /* BLKGETSIZE */
	{0x1261, 0x1262, 0},   /* BLKFLSBUF, BLKRASET */
	{0x1263, 0x1263, 8},   /* BLKRAGET */
	{0x1264, 0x1264, 0},   /* BLKFRASET */
	{0x1265, 0x1265, 8},   /* BLKFRAGET */
	{0x1267, 0x1267, 2},   /* BLKSECTGET */
	{0x1268, 0x1268, 4},   /* BLKSSZGET */
	{0x1277, 0x1277, 0},   /* BLKDISCARD */
	{0x1278, 0x127c, 4},   /* BLKIOMIN, BLKIOOPT, BLKALIGNOFF, BLKPBSZGET, BLKDISCARDZEROES */
	{0x127d, 0x127d, 0},   /* BLKSECDISCARD */
	{0x127e, 0x127e, 2},   /* BLKROTATIONAL */
	{0x127f, 0x127f, 0},   /* BLKZEROOUT */
	{0x4b31, 0x4b31, 1},   /* KDGETLED */
	{0x4b32, 0x4b32, 0},   /* KDSETLED */
	{0x4b33, 0x4b33, 1},   /* KDGKBTYPE */
	{0x4b3a, 0x4b3a, 0},   /* KDSETMODE */
	{0x4b3b, 0x4b3b, 4},   /* KDGETMODE */
	{0x4b44, 0x4b44, 4},   /* KDGKBMODE */
	{0x4b45, 0x4b45, 0},   /* KDSKBMODE */
	{0x4b46, 0x4b46, 4},   /* KDGKBENT */
	{0x4c00, 0x4c02, 0},   /* LOOP_SET_FD, LOOP_CLR_FD, LOOP_SET_STATUS */
	{0x4c03, 0x4c03, 168}, /* LOOP_GET_STATUS */
	{0x4c04, 0x4c04, 0},   /* LOOP_SET_STATUS64 */
	{0x4c05, 0x4c05, 232}, /* LOOP_GET_STATUS64 */
	{0x4c06, 0x4c0a, 0},   /* LOOP_CHANGE_FD .. LOOP_CONFIGURE */
	{0x4c80, 0x4c82, 0},   /* LOOP_CTL_ADD, LOOP_CTL_REMOVE, LOOP_CTL_GET_FREE */
	{0x5326, 0x5326, 0},   /* CDROM_DRIVE_STATUS */
	{0x5331, 0x5331, 0},   /* CDROM_GET_CAPABILITY */
	{0x5401, 0x5401, 36},  /* TCGETS */
	{0x5402, 0x5404, 0},   /* TCSETS, TCSETSW, TCSETSF */
	{0x5405, 0x5405, 18},  /* TCGETA */
	{0x5406, 0x540e, 0},   /* TCSETA.., TCSBRK, TCXONC, TCFLSH, TIOCEXCL, TIOCNXCL, TIOCSCTTY */
	{0x540f, 0x540f, 4},   /* TIOCGPGRP */
	{0x5410, 0x5410, 0},   /* TIOCSPGRP */
	{0x5411, 0x5411, 4},   /* TIOCOUTQ, SIOCOUTQ */
	{0x5412, 0x5412, 0},   /* TIOCSTI */
	{0x5413, 0x5413, 8},   /* TIOCGWINSZ */
	{0x5414, 0x5414, 0},   /* TIOCSWINSZ */
	{0x5415, 0x5415, 4},   /* TIOCMGET */
	{0x5416, 0x5418, 0},   /* TIOCMBIS, TIOCMBIC, TIOCMSET */
	{0x5419, 0x5419, 4},   /* TIOCGSOFTCAR */
	{0x541a, 0x541a, 0},   /* TIOCSSOFTCAR */
	{0x541b, 0x541b, 4},   /* FIONREAD, SIOCINQ */
	{0x541d, 0x541d, 0},   /* TIOCCONS */
	{0x541e, 0x541e, 72},  /* TIOCGSERIAL */
	{0x541f, 0x5423, 0},   /* TIOCSSERIAL, TIOCPKT, FIONBIO, TIOCNOTTY, TIOCSETD */
	{0x5424, 0x5424, 4},   /* TIOCGETD */
	{0x5425, 0x5428, 0},   /* TCSBRKP, TIOCSBRK, TIOCCBRK */
	{0x5429, 0x5429, 4},   /* TIOCGSID */
	{0x5437, 0x5437, 0},   /* TIOCVHANGUP */
	{0x5441, 0x5441, 0},   /* TIOCGPTPEER: its answer is a descriptor */
	{0x5450, 0x5453, 0},   /* FIONCLEX, FIOCLEX, FIOASYNC, TIOCSERCONFIG */
	{0x5456, 0x5456, 36},  /* TIOCGLCKTRMIOS */
	{0x5457, 0x5457, 0},   /* TIOCSLCKTRMIOS */
	{0x545c, 0x545c, 0},   /* TIOCMIWAIT */
	{0x545d, 0x545d, 80},  /* TIOCGICOUNT */
	{0x5460, 0x5460, 8},   /* FIOQSIZE */
	{0x5600, 0x5600, 4},   /* VT_OPENQRY */
	{0x5601, 0x5601, 8},   /* VT_GETMODE */
	{0x5602, 0x5602, 0},   /* VT_SETMODE */
	{0x5603, 0x5603, 6},   /* VT_GETSTATE */
	{0x5605, 0x5608, 0},   /* VT_RELDISP, VT_ACTIVATE, VT_WAITACTIVE, VT_DISALLOCATE */
	{0x8901, 0x8902, 0},   /* FIOSETOWN, SIOCSPGRP */
	{0x8903, 0x8905, 4},   /* FIOGETOWN, SIOCGPGRP, SIOCATMARK */
	{0x8906, 0x8907, 16},  /* SIOCGSTAMP, SIOCGSTAMPNS */
	{0x890b, 0x890c, 0},   /* SIOCADDRT, SIOCDELRT */
	{0x8910, 0x8911, 40},  /* SIOCGIFNAME, SIOCSIFLINK: struct ifreq, netdevice(7) */
	{0x8913, 0x893f, 40},  {0x8940, 0x8941, 0},                       /* SIOCGIFBR, SIOCSIFBR: special() */
	{0x8942, 0x8945, 40},  {0x8947, 0x894b, 40}, {0x894c, 0x894c, 0}, /* SIOCGSKNS: a descriptor */
	{0x8953, 0x8955, 68}, /* SIOCDARP, SIOCGARP, SIOCSARP: struct arpreq, arp(7) */
	{0x8960, 0x8962, 68}, /* the same for RARP */
	{0x8970, 0x8971, 40}, /* SIOCGIFMAP, SIOCSIFMAP */
	{0x8990, 0x8992, 0},  /* SIOCBONDENSLAVE, SIOCBONDRELEASE, SIOCBONDSETHWADDR */
	{0x8995, 0x8995, 0},  /* SIOCBONDCHANGEACTIVE */
	{0x89a0, 0x89a3, 0},  /* SIOCBRADDBR, SIOCBRDELBR, SIOCBRADDIF, SIOCBRDELIF */
	{0xb701, 0xb703, 0},  /* NS_GET_USERNS, NS_GET_PARENT, NS_GET_NSTYPE: ioctl_ns(2) */
	{0xb704, 0xb704, 4},  /* NS_GET_OWNER_UID */
};

/* Likewise, how many bytes they read there, if the argument is a pointer. */
static const struct {
	uint16_t first, last;
	uint16_t bytes;
} old_style_reads[] = {
	{0x0001, 0x0001, 4},                         /* FIBMAP */
	{0x125d, 0x125d, 4},                         /* BLKROSET */
	{0x1277, 0x1277, 16},                        /* BLKDISCARD */
	{0x127d, 0x127d, 16},                        /* BLKSECDISCARD */
	{0x127f, 0x127f, 16},                        /* BLKZEROOUT */
	{0x4c02, 0x4c02, 168},                       /* LOOP_SET_STATUS */
	{0x4c04, 0x4c04, 232},                       /* LOOP_SET_STATUS64 */
	{0x4c0a, 0x4c0a, 304},                       /* LOOP_CONFIGURE */
	{0x5402, 0x5404, 36},                        /* TCSETS, TCSETSW, TCSETSF */
	{0x5406, 0x5408, 18},                        /* TCSETA, TCSETAW, TCSETAF */
	{0x5410, 0x5410, 4},                         /* TIOCSPGRP */
	{0x5412, 0x5412, 1},                         /* TIOCSTI */
	{0x5414, 0x5414, 8},                         /* TIOCSWINSZ */
	{0x5416, 0x5418, 4},                         /* TIOCMBIS, TIOCMBIC, TIOCMSET */
	{0x541a, 0x541a, 4},                         /* TIOCSSOFTCAR */
	{0x541f, 0x541f, 72},                        /* TIOCSSERIAL */
	{0x5420, 0x5421, 4},                         /* TIOCPKT, FIONBIO */
	{0x5423, 0x5423, 4},                         /* TIOCSETD */
	{0x5452, 0x5452, 4},                         /* FIOASYNC */
	{0x5457, 0x5457, 36},                        /* TIOCSLCKTRMIOS */
	{0x5602, 0x5602, 8},                         /* VT_SETMODE */
	{0x8901, 0x8902, 4},                         /* FIOSETOWN, SIOCSPGRP */
	{0x890b, 0x890c, 120},                       /* SIOCADDRT, SIOCDELRT: struct rtentry */
	{0x8910, 0x8911, 40},  {0x8912, 0x8912, 16}, /* SIOCGIFCONF */
	{0x8913, 0x893f, 40},                        /* struct ifreq */
	{0x8940, 0x8941, 24},                        /* SIOCGIFBR, SIOCSIFBR: three words */
	{0x8942, 0x894b, 40},                        /* struct ifreq */
	{0x8953, 0x8962, 68},                        /* struct arpreq */
	{0x8970, 0x8971, 40},  {0x8990, 0x8995, 40}, {0x89a2, 0x89a3, 40},
};

size_t ioctl_reads(unsigned req)
{
	if (req == TUNSETIFF)
		return 40;
	if (req >> 30)
		return req >> 30 & 1 /* _IOC_WRITE */ ? req >> 16 & 0x3fff : 0;
	for (unsigned i = 0; i < sizeof(old_style_reads) / sizeof(*old_style_reads); i++)
		if (req >= old_style_reads[i].first && req <= old_style_reads[i].last)
			return old_style_reads[i].bytes;
	return 0;
}

static int old_style_of(unsigned req)
{
	for (unsigned i = 0; i < sizeof(old_style) / sizeof(*old_style); i++)
		if (req >= old_style[i].first && req <= old_style[i].last)
			return (int)i;
	return -1;
}

static int refusal(unsigned req)
{
	if (req >> 30 == 0 &&
	    (req == 0x8946 /* SIOCETHTOOL */ || (req >= 0x8990 && req <= 0x8bff && old_style_of(req) < 0)))
		return -EOPNOTSUPP; /* the answer contains pointers to further output */
	if (req >> 30 == 0 && req >= 0x2200 && req <= 0x22ff)
		return -ENOTTY; /* SCSI generic */
	if (req >> 30)
		switch (TYPE(req)) {
		case 'd': /* DRM */
		case 'A': /* ALSA */
		case 'U': /* USB */
		case 'V': /* V4L2 */
		case 'F': /* a GPU's driver */
		case 'K': /* KFD */ return -ENOTTY;
		}
	return TYPE(req) == 0xae /* KVM */ || TYPE(req) == ';' /* VFIO */ ? -ENOTTY : 0;
}

int ioctl_refused(int fd, unsigned req)
{
	const int rc = refusal(req);
	struct stat st;
	if (!rc)
		return 0;
	if (fstat(fd, &st))
		return -EBADF;
	if (!S_ISCHR(st.st_mode) && !S_ISBLK(st.st_mode) && !S_ISSOCK(st.st_mode))
		return -ENOTTY; /* as without rdb */
	refused_request("ioctl request", SYS_ioctl, req, -rc, "its arguments do not tell what it does");
	return rc;
}

/* Needed because failed calls may also have written, or may have been given a bad pointer. */
bool may_be_read(uint64_t addr, size_t len)
{
	char buf[64];
	for (size_t done = 0; done < len; done += sizeof(buf)) {
		size_t n = len - done < sizeof(buf) ? len - done : sizeof(buf);
		struct iovec to = {buf, n}, from = {(void *)(addr + done), n};
		if (raw_syscall(310 /* process_vm_readv */, lower.pid, (long)&to, 1, (long)&from, 1, 0) != (long)n)
			return false;
	}
	return true;
}

static void out_ifconf(struct event *ev)
{
	const struct {
		int len;
		uint64_t buf;
	} *conf = P(2);
	out_if(ev, conf->buf, (size_t)conf->len);
	out_if(ev, A(2), 16);
}

static bool special(struct event *ev, unsigned req)
{
	switch (req) {
	case 0x8912: /* SIOCGIFCONF, netdevice(7) */
		if (ev->result >= 0)
			out_ifconf(ev);
		return true;
	case 0x8940: /* SIOCGIFBR: BRCTL_GET_BRIDGES is 1 (net/bridge/br_ioctl.c) */
		if (ev->result > 0 && *(const uint64_t *)P(2) == 1)
			out_if(ev, ((const uint64_t *)P(2))[1], (size_t)ev->result * sizeof(int));
		return true;
	case FS_IOC_FIEMAP:
		if (ev->result >= 0) {
			const struct fiemap *f = P(2);
			out_if(ev, A(2),
			       sizeof(*f) + f->fm_mapped_extents * sizeof(struct fiemap_extent) *
						    (f->fm_extent_count ? 1 : 0));
		}
		return true;
	case FIDEDUPERANGE:
		if (ev->result >= 0) {
			const struct file_dedupe_range *r = P(2);
			out_if(ev, A(2), sizeof(*r) + r->dest_count * sizeof(r->info[0]));
		}
		return true;
	case TUNSETIFF: /* says int, means struct ifreq */
	case TUNGETIFF:
		if (ev->result >= 0)
			out_if(ev, A(2), 40);
		return true;
	default: return false;
	}
}

/* asm-generic/ioctl.h: newer requests carry direction and size */
bool ioctl_known(unsigned req)
{
	return req >> 30 || req == 0x8912 /* SIOCGIFCONF */ || old_style_of(req) >= 0;
}

void out_ioctl(struct event *ev)
{
	unsigned req = (unsigned)A(1);
	if (special(ev, req))
		return;
	if (req >> 30) {
		size_t len = req >> 16 & 0x3fff;
		/* some write less than they say, as FS_IOC_GETFLAGS: the argument may end where memory ends */
		if (req >> 30 & 2 /* _IOC_READ */)
			out_writable(ev, A(2), len);
		return;
	}
	const int i = old_style_of(req);
	if (i >= 0 && ev->result >= 0)
		out_if(ev, A(2), old_style[i].bytes);
	if (i < 0 && ev->result >= 0 && !lower.opt.lax)
		rdb_fatal("the program makes an ioctl that is not supported yet: request %#x; "
			  "--lax records it all the same",
			  req);
}
