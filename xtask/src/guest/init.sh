#!/bin/busybox sh
# The first process of a guest: makes the Soft-RoCE device, runs the command when all guests have come so far,
# and says how it ended. It talks to the host by files in $host, a directory that all guests share; NODE_ID,
# NODE_COUNT and TIMEOUT come from the kernel's command line, of which unknown words are init's environment.
export PATH=/usr/local/bin:/usr/bin:/usr/sbin HOME=/root
busybox mount -t proc proc /proc # which busybox wants to have to find itself
busybox --install -s
mount -t sysfs sysfs /sys
mount -t debugfs debugfs /sys/kernel/debug
mount -t devtmpfs devtmpfs /dev
mkdir /dev/shm
mount -t tmpfs shm /dev/shm
ln -s /proc/self/fd /dev/fd
while read -r module; do insmod "/modules/$module"; done </modules/order
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000 host /mnt # QEMU calls it so
host=/mnt/control
ln -s /mnt/shared /shared
ln -s "/mnt/n$NODE_ID" /out
exec >"$(ls /dev/vport*p1)" 2>&1 </dev/null
dmesg -n 7 # from here on the kernel speaks on the console, too: should it crash, that is what remains

end() { # STATUS
    dmesg >"$host/log.$NODE_ID"
    echo "$1" >"$host/status.$NODE_ID"
    poweroff -f
    sleep 60
}
fail() { # MESSAGE...
    echo "guest: $*"
    end 125
}
wait_until() { # WHAT COMMAND...: what comes without further ado, and soon
    what=$1 tries=0
    shift
    until "$@"; do
        usleep 10000
        tries=$((tries + 1))
        [ $tries -lt 1000 ] || fail "$what"
    done
}
# Waits until all have come here. The host speaks for guests that are dead.
barrier() { # NAME
    : >"$host/$1.$NODE_ID"
    until [ "$(ls "$host" | grep -c "^$1\.")" -ge "$NODE_COUNT" ]; do usleep 10000; done
}

export NODE_ID NODE_COUNT RDMA_DEV=rxe0 RDMA_GID_INDEX=1
export NODE_ADDR=10.9.0.$((NODE_ID + 1)) PEER_ADDR=10.9.0.$(((NODE_ID + 1) % NODE_COUNT + 1))
hostname "n$NODE_ID"
echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad
ip link set lo up
ip addr add "$NODE_ADDR/24" dev eth0
ip link set eth0 up
rdma link add $RDMA_DEV type rxe netdev eth0 || fail "there is no Soft-RoCE device"
# The kernel adds the address a moment later.
wait_until "$RDMA_DEV gets no GID for $NODE_ADDR" \
    grep -q ffff:0a09 /sys/class/infiniband/$RDMA_DEV/ports/1/gids/$RDMA_GID_INDEX

ulimit -l unlimited # memory that an adapter may access is locked
cd /root || fail "there is no /root"
. /etc/guest/environment
if [ -e /etc/ssh/sshd_config ]; then
    env >/root/.ssh/environment # what comes by ssh sees what the command sees
    /usr/sbin/sshd -e || fail "sshd does not start"
    # Port 22, in hexadecimal, in state 0A, listening.
    wait_until "sshd does not listen" grep -q ':0016 00000000:0000 0A' /proc/net/tcp
fi
barrier up
setsid sh /etc/guest/command &
command=$!
(
    sleep "$TIMEOUT"
    echo >"$host/late.$NODE_ID"
    # Where is it stuck? Kernel threads have no command line; the sixth field is the session, and this one's
    # processes are init's.
    read -r _ _ _ _ _ own _ </proc/self/stat
    for process in /proc/[0-9]*; do
        [ -n "$(tr '\0' ' ' 2>/dev/null <"$process/cmdline")" ] || continue
        session=$(sed 's/.*) //' "$process/stat" 2>/dev/null | cut -d' ' -f4)
        [ -n "$session" ] && [ "$session" != "$own" ] || continue
        for thread in "$process"/task/*; do
            name=$(cat "$thread/comm" 2>/dev/null) || continue # it has ended meanwhile
            echo "guest: thread $name of process ${process#/proc/} is in"
            cat "$thread/stack" 2>/dev/null
        done
    done
    kill -KILL -$command
) &
wait $command
status=$?
[ ! -e "$host/late.$NODE_ID" ] || status=124
barrier down # who has finished still answers retransmissions
end $status
