# shellcheck shell=bash
# Boot this machine again. It answers before it goes down; whoever asked waits for its next boot.
as_root systemctl reboot
