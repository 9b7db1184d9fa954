# shellcheck shell=bash
# Which boot of this machine it is, and where its folders are mounted from. "boot ID", and a line "mount SOURCE FOLDER"
# for each folder. A container has its host's kernel, so the start of process 1 is part of the ID.
# Given: folders (may be none).
declare -a folders # may be none

started=$(sed 's/.*) //' /proc/1/stat 2>/dev/null | cut -d ' ' -f 20)
echo "boot $(cat /proc/sys/kernel/random/boot_id)/$started"
for folder in ${folders[@]+"${folders[@]}"}; do
  printf 'mount %s %s\n' "$(findmnt -n -o SOURCE -T "$folder" 2>/dev/null || echo nowhere)" "$folder"
done
