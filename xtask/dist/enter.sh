# Runs a script in another root, with devices and processes of its own and an empty environment: `enter.sh ROOT SCRIPT`, in
# namespaces of its own for what is mounted and for processes.
set -e
cd "$1"
mount -t tmpfs devices dev
mkdir dev/shm
for device in null zero random urandom; do
  : >dev/$device
  mount --bind /dev/$device dev/$device
done
mount -t proc processes proc
PATH=$PATH:/usr/sbin:/sbin
exec chroot . /usr/bin/env -i PATH=/usr/bin:/bin /bin/sh -c "$2"
