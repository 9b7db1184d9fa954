# shellcheck shell=bash
# Where each address is: /rack, or /rack/node group where several workers share a host. Hadoop calls it with addresses.
# Given: addresses and places (one for each address), elsewhere (of any other address). They are written out, because
# addresses follow no rule that holds everywhere; the paper's topology.sh (Appendix A) said them by rule.
: "${elsewhere:?}"
declare -a addresses places # may be none

for address in "$@"; do
  place=$elsewhere
  for n in "${!addresses[@]}"; do
    if [ "${addresses[n]}" = "$address" ]; then
      place=${places[n]}
      break
    fi
  done
  printf '%s ' "$place"
done
