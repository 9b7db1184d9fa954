#!/bin/sh
# Install what is missing: Debian packages (as root, or with sudo), the virtual environment, the Python packages of
# requirements.lock, and this project in it. A second run does nothing, at once.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
venv=$root/.venv
stamp=$venv/.installed
libvirt=$root/include/lab/libvirt.txt

missing_packages() {
    sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$root/include/lab/packages" | while read -r program package; do
        # shellcheck disable=SC2086  # the program may be a pattern
        set -- $program
        [ -e "$1" ] || echo "$package"
    done | sort -u
}

# Elsewhere than Debian 12, fincore is still in util-linux, and chromium may go by another name.
installable() {
    for package in "$@"; do
        if apt-cache show "$package" >/dev/null 2>&1; then
            echo "$package"
        else
            echo "setup: no package $package here; going on without it" >&2
        fi
    done
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

# What a command has to say is of interest when it fails.
quietly() {
    said=$(mktemp)
    if "$@" >"$said" 2>&1; then
        rm -f "$said"
    else
        echo "setup: failed: $*" >&2
        tail -n 20 "$said" >&2
        rm -f "$said"
        exit 1
    fi
}

may_be_root() {
    [ "$(id -u)" = 0 ] || { command -v sudo >/dev/null && sudo -n true 2>/dev/null; }
}

# The lab runs servers of its own. Those that come with the packages shall neither start now nor at the next boot;
# policy-rc.d is Debian's way to say so to the packages' own scripts.
install_packages() {
    policy=/usr/sbin/policy-rc.d
    if [ ! -e $policy ]; then
        trap 'as_root rm -f /usr/sbin/policy-rc.d' EXIT INT TERM
        printf '#!/bin/sh\nexit 101\n' | as_root tee $policy >/dev/null
        as_root chmod 755 $policy
    fi
    quietly as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@"
    if command -v systemctl >/dev/null; then
        for package in "$@"; do
            case $package in
                postgresql | pgbouncer | krb5-kdc | krb5-admin-server) as_root systemctl disable -q "$package" 2>/dev/null || true ;;
                openssh-server) as_root systemctl disable -q ssh 2>/dev/null || true ;;
            esac
        done
    fi
    if [ -e $policy ]; then
        as_root rm -f $policy
        trap - EXIT INT TERM
    fi
}

debian() {
    missing=$(missing_packages)
    [ -n "$missing" ] || return 0
    # shellcheck disable=SC2086  # a list of words, here and below
    set -- $missing
    if ! command -v apt-get >/dev/null; then
        echo "setup: this system has no apt-get. The lab is made for Debian and Ubuntu and needs: $*" >&2
        exit 1
    fi
    if ! may_be_root; then
        echo "setup: packages are missing, and neither root nor a sudo without a password is at hand. Run once:" >&2
        echo "    sudo apt-get update && sudo apt-get install --no-install-recommends $*" >&2
        echo "and then: make setup" >&2
        exit 1
    fi
    echo "setup: installing $*"
    quietly as_root apt-get update -q
    # shellcheck disable=SC2046  # a list of words
    set -- $(installable "$@")
    [ $# = 0 ] || install_packages "$@"
}

# The first Python that is new enough; PYTHON=… chooses another.
find_python() {
    for python in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
        if "$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
            echo "$python"
            return
        fi
    done
    found=$(python3 --version 2>&1 || true)
    echo "setup: found ${PYTHON:+$PYTHON, }$found; allowed are Python 3.11, 3.12 and 3.13." >&2
    echo "Install one of them, or name it: make setup PYTHON=/path/to/python3.12" >&2
    exit 1
}

python_packages() {
    wanted=$(cat "$root/requirements.lock" "$root/include/lab/uv.txt" "$libvirt" "$0" | sha256sum | cut -d' ' -f1)
    wanted="$wanted $root $(pkg-config --modversion libvirt 2>/dev/null || true)"
    if [ -e "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
        return
    fi
    python=$(find_python)
    echo "setup: $("$python" --version) in $venv"
    if ! { [ -x "$venv/bin/python" ] && "$venv/bin/python" -m pip --version >/dev/null 2>&1; }; then
        "$python" -m venv --clear "$venv"
    fi
    "$venv/bin/python" -m pip install -q --disable-pip-version-check --require-hashes -r "$root/include/lab/uv.txt"
    "$venv/bin/uv" pip install -q --system-certs --compile-bytecode --python "$venv/bin/python" --require-hashes -r "$root/requirements.lock"
    compile_libvirt
    install_project
    printf '%s' "$wanted" >"$stamp"
}

# PyPI has its source alone, so it is compiled against this system's libvirt. Only that one provider of machines needs
# it: where it cannot be compiled, all else goes on, and its tests say that they were skipped.
compile_libvirt() {
    headers=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
    if ! pkg-config --exists libvirt 2>/dev/null || [ ! -e "$headers/Python.h" ]; then
        echo "setup: no headers of libvirt, or none of this Python in $headers; going on without libvirt" >&2
        return
    fi
    "$venv/bin/uv" pip install -q --system-certs --python "$venv/bin/python" --require-hashes \
        --build-constraints "$libvirt" -r "$libvirt" >&2 || echo "setup: going on without libvirt" >&2
}

# What `pip install --editable` would do, without the build tools it would fetch: the path, and the program.
install_project() {
    packages=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    rm -f "$packages/clusterbench_dev.pth"
    echo "$root/plugins" >"$packages/clusterbench.pth"
    cat >"$venv/bin/clusterbench" <<END
#!$venv/bin/python
import sys

from clusterbench.cli.main import main

sys.exit(main())
END
    chmod 755 "$venv/bin/clusterbench"
}

debian
python_packages
