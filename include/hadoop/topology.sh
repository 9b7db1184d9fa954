#!/bin/bash
# Where each address is: /rack, or /rack/node group where several workers share a host. Hadoop calls it with addresses.
# Written by clusterbench from the platform's file, as the paper's topology.sh (Appendix A) said it by rule.
for address in "$@"; do
  case $address in
${places}
    *) printf '%s ' ${elsewhere} ;;
  esac
done
