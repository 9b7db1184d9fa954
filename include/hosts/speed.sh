# shellcheck shell=bash
# How fast this host is by itself, a name and a number a line. Given: what (processor, memory, disk), seconds; of a disk
# the folder in which a file of so many MiB is written and read.
: "${what?}" "${seconds?}" "${folder?}" "${mib?}"
PATH=$PATH:/usr/sbin:/sbin
need() { command -v "$1" >/dev/null || { echo "$1 is not installed there" >&2; exit 3; }; }
case $what in
  processor)
    need sysbench
    sysbench cpu --threads="$(nproc)" --time="$seconds" run | awk '/events per second/ {print "processor_events_per_s", $NF}'
    ;;
  memory)
    need sysbench
    sysbench memory --threads="$(nproc)" --memory-block-size=1M --memory-total-size=1000T --time="$seconds" run |
      sed -n 's/.*(\([0-9.]*\) MiB\/sec).*/memory_mib_per_s \1/p'
    ;;
  disk)
    need fio
    file=$folder/clusterbench_speed.$$
    trap 'rm -f -- "$file"' EXIT
    for way in write read; do
      timeout "$((10 * seconds + 30))" fio --name=$way --rw=$way --filename="$file" --size="${mib}m" --bs=1m --direct=1 \
        --ioengine=libaio --iodepth=16 --fallocate=none --end_fsync=1 --output-format=terse --terse-version=3 |
        awk -F';' -v way=$way '{print "disk_" way "_mib_per_s", (way == "write" ? $48 : $7) / 1024}'
    done
    ;;
esac
