#!/bin/busybox sh
# In the initramfs, with busybox alone: drivers, the host's root below a tmpfs, the network's address.
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t devtmpfs dev /dev
mount -t sysfs sys /sys
while read -r module; do
	insmod "/mods/$module" || echo "init: $module was not loaded"
done < /mods/order

# The kernel starts with one processor (maxcpus=1), and the others come when all devices have their
# addresses: an emulated processor that runs while another moves a device's registers may write to
# the wrong device, which ends qemu (before 8.1: its memory map changes before the other's TLB does).
for online in /sys/devices/system/cpu/cpu*/online; do
	[ "$(cat "$online")" = 1 ] || echo 1 > "$online"
done

nine=trans=virtio,version=9p2000.L,msize=512000
mount -t 9p -o $nine,cache=loose,ro host /host || poweroff -f
mount -t tmpfs -o size=90% tmpfs /overlay
mkdir /overlay/upper /overlay/work
mount -t overlay -o lowerdir=/host,upperdir=/overlay/upper,workdir=/overlay/work overlay /root
mount -t tmpfs tmpfs /root/run
mkdir -p /root/run/lock /root/run/guest /root/run/out "/root/lib/modules/$(uname -r)"
mount -t 9p -o $nine,cache=none,ro guest /root/run/guest
mount -t 9p -o $nine,cache=none out /root/run/out
mount -t 9p -o $nine,cache=loose,ro modules "/root/lib/modules/$(uname -r)"

mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs -o mode=1777 shm /dev/shm
ln -sfn /proc/self/fd /dev/fd
ln -sfn /proc/self/fd/0 /dev/stdin
ln -sfn /proc/self/fd/1 /dev/stdout
ln -sfn /proc/self/fd/2 /dev/stderr

. /root/run/guest/settings # NUMBER GUESTS AGENT
hostname "g$NUMBER"
for i in $(seq 0 $((GUESTS - 1))); do
	echo "10.9.0.$((i + 1)) g$i" >> /root/etc/hosts
done
ip link set lo up
ip addr add "10.9.0.$((NUMBER + 1))/24" dev eth0
ip link set eth0 up
for i in dev proc sys; do mount --move /$i /root/$i; done
exec switch_root /root /usr/bin/env -i \
	PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
	/usr/bin/python3 -S -E "$AGENT"
