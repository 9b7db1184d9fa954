#!/bin/sh
# In the template of machines that clusterbench makes, run at every boot when sshd has its keys (docs/machines.md): the guest
# tells its hypervisor at which address it is and with which host key, by VMware Tools. Nobody else can tell that in its
# place, so nobody has to trust a key at first sight.
set -eu

# A copy of the template must have a key of its own. Take this out where another program sees to it (cloud-init does).
uuid=$(cat /sys/class/dmi/id/product_uuid)
mark=/etc/ssh/clusterbench_machine
if [ "$(cat "$mark" 2>/dev/null || true)" != "$uuid" ]; then
  rm -f /etc/ssh/ssh_host_*
  ssh-keygen -A
  systemctl restart ssh 2>/dev/null || systemctl restart sshd
  printf '%s\n' "$uuid" >"$mark"
fi

# The address by which it is reached: that of the route to a place outside, unless one is named here.
address=${CLUSTERBENCH_ADDRESS:-$(ip -4 route get 192.0.2.1 | sed -n 's/.* src \([0-9.]*\).*/\1/p')}
read -r kind key _ </etc/ssh/ssh_host_ed25519_key.pub
vmtoolsd --cmd "info-set guestinfo.clusterbench.address $address"
vmtoolsd --cmd "info-set guestinfo.clusterbench.host_key $kind $key"
