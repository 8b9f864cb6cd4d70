# A bare Debian 12 in a folder, for ./dev fresh and ./dev package --try. Sourced by bash scripts that have a `fail`.
# Needs root and debootstrap; packages come from where this machine gets its own.

# The first address that this machine itself gets packages from.
mirror() {
  cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
    sed -nE 's/^URIs: *([^ ]+).*/\1/p; s/^deb (\[[^]]*\] *)?([^ ]+) .*/\2/p' | head -1
}

# make_root FOLDER: replaces FOLDER by a bare Debian 12 (debootstrap, minbase). The first one is kept as BASE, a tarball.
make_root() {
  local root=$1 base=$2
  [ "$(id -u)" -eq 0 ] || fail "only root can make a bare Debian; run this with sudo"
  command -v debootstrap >/dev/null || fail "there is no debootstrap"
  rm -rf --one-file-system "$root"
  mkdir -p "$root" "$(dirname "$base")"
  if [ ! -f "$base" ]; then
    debootstrap --variant=minbase bookworm "$root" "$(mirror)" >"$base.log" 2>&1 ||
      { tail -5 "$base.log" >&2; fail "debootstrap failed; see $base.log"; }
    rm -rf "$root"/etc/apt/sources.list*
    cp -r /etc/apt/sources.list* "$root/etc/apt/"
    cp -rn /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
    { tar -C "$root" -cf "$base.part" . && mv "$base.part" "$base"; } || fail "cannot keep $base"
  else
    tar -C "$root" -xf "$base"
  fi
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
}

# in_root FOLDER [NAME=VALUE…] COMMAND…: runs it with FOLDER as the root folder, as a machine of its own would: what it
# mounts and starts is gone when the command ends. (In a mere chroot no program could make a namespace.)
in_root() {
  local root=$1
  shift
  # shellcheck disable=SC2016
  unshare --mount --pid --fork --kill-child --propagation private bash -c '
    set -e
    cd "$1"; shift
    mount --bind . . && cd "$PWD"
    mount --rbind /dev dev
    mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts dev/pts && mount --bind dev/pts/ptmx dev/ptmx
    mount -t tmpfs tmpfs dev/shm
    mount -t proc proc proc
    mount -t sysfs -o ro sysfs sys
    mkdir -p .outside && pivot_root . .outside && umount -l .outside && rmdir .outside
    cd /
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
  ' in_root "$root" "$@"
}
