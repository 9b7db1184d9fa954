# shellcheck shell=bash
# Remove the ticket. Given: cache.
: "${cache:?}"
rm -f "$cache"
