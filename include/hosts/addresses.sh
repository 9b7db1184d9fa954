# shellcheck shell=bash
# A line for each address of this host: interface, address, speed in Mbit/s (-1 where it tells none), MTU.
PATH=$PATH:/usr/sbin:/sbin
ip -oneline address | while read -r _ interface _ address _; do
  speed=$(cat "/sys/class/net/$interface/speed" 2>/dev/null) || speed=-1
  mtu=$(cat "/sys/class/net/$interface/mtu" 2>/dev/null) || mtu=0
  echo "$interface ${address%/*} $speed $mtu"
done
