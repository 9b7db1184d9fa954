# shellcheck shell=bash
# Bytes that are free where the folder will be, which is made. Given: folder.
: "${folder:?}"
rm -rf -- "$folder" # ours by its name, left by an earlier try that did not end
mkdir -p "$folder"
df -PB1 "$folder" | awk 'NR == 2 {print $4}'
