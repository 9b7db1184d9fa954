#!/bin/sh
# Make the base image where no registry can be reached: Debian from its own packages, under the name the Dockerfile
# asks for. Needs root and debootstrap. The machine's own CA certificates come along, so that a build finds the
# package registries behind whatever stands between. Where the image is there already, nothing is done.
set -eu

image=debian:bookworm-slim
suite=bookworm

if docker image inspect "$image" >/dev/null 2>&1; then
    echo "base image: $image is there"
    exit 0
fi
command -v debootstrap >/dev/null || {
    echo "base image: $image is not here, and debootstrap, which could make it, neither. Run one of:" >&2
    echo "    docker pull $image" >&2
    echo "    apt-get install debootstrap" >&2
    exit 1
}

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT INT TERM
log=$tree.log
debootstrap --variant=minbase --include=ca-certificates "$suite" "$tree" >"$log" 2>&1 || {
    echo "base image: debootstrap failed. Last lines of $log:" >&2
    tail -n 15 "$log" >&2
    exit 1
}
rm -f "$log"

rm -rf "$tree"/var/cache/apt/archives/*.deb "$tree"/var/lib/apt/lists/*
printf 'DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb || true"; };\n' \
    >"$tree/etc/apt/apt.conf.d/docker-clean"

if ls /usr/local/share/ca-certificates/*.crt >/dev/null 2>&1; then
    cp /usr/local/share/ca-certificates/*.crt "$tree/usr/local/share/ca-certificates/"
    chroot "$tree" update-ca-certificates >/dev/null 2>&1
fi
tar -C "$tree" -c . | docker import --change 'CMD ["bash"]' - "$image" >/dev/null
echo "base image: made $image from Debian's packages"
