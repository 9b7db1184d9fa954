# shellcheck shell=bash
# A line for each instance: the file system of its data, and the free bytes there. After instances.sh.

free() { df --block-size=1 --output=source,avail "$1" | tail -n 1; }
all free
