# shellcheck shell=bash
# Files one after the other on one disk, each in a folder of its own, written and then read, with direct asynchronous I/O
# (paper 002, Appendix B). Run on the client host, as a job. choices.sh says how many files, how large, where.
# shellcheck source=/dev/null  # it is written by the job
. ./choices.sh
: "${folder:?}" "${files:?}" "${file_mib:?}" "${record_kib:?}" "${depth:?}"
PATH=$PATH:/usr/sbin:/sbin
trap 'rm -rf -- "$folder"' EXIT
trap 'exit 143' TERM INT

# What is measured: the file system of the folder, and in how many allocation groups XFS cuts it.
mkdir -p "$folder"
findmnt -n -o FSTYPE,SOURCE,TARGET -T "$folder" >file_system.txt || true
if [ "$(cut -d ' ' -f 1 file_system.txt)" = xfs ]; then
  xfs_info "$(awk '{print $3}' file_system.txt)" >xfs_info.txt 2>&1 || true
fi

# one WRITE|READ NUMBER: the bytes of a second are fio's, by this host's clock; begin and end are for telemetry
one() {
  local begun status=0
  echo "$1, file $2 of $files" >doing
  mkdir -p "$folder/$2"
  begun=$(date +%s.%N)
  fio --name="$1" --rw="$1" --filename="$folder/$2/file" --size="${file_mib}m" --bs="${record_kib}k" --ioengine=libaio \
    --iodepth="$depth" --direct=1 --fallocate=none --output-format=json --output="$1.$2.json" 2>>fio.err >>fio.err || status=$?
  echo "$1 $2 $begun $(date +%s.%N) $status" >>files.txt
  if [ $status != 0 ]; then
    tail -n 5 fio.err >&2
    grep -h '^fio: ' "$1.$2.json" >&2 || true
    return $status
  fi
}
for way in write read; do
  for number in $(seq "$files"); do one $way "$number"; done
done
echo "done" >doing
