# shellcheck shell=bash
# Removes the folder of a trial. Given: folder.
: "${folder:?}"
rm -rf -- "$folder"
