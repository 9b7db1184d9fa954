"""What a platform declares of its hosts' settings, read, applied and put back over SSH, on all hosts at once.

What was there before is noted on the host itself, so that anybody can put it back, also when the worker that changed
it has died; what is put back twice is put back once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from shlex import quote

from clusterbench.base.errors import HostAwayError, HostError
from clusterbench.base.scripts import script
from clusterbench.hosts.fleet import Fleet
from clusterbench.spec.host_settings import ONLY_READ, Item, accepted_reason, differing, items
from clusterbench.spec.platform import Platform

TIMEOUT_S = 120


def read(fleet: Fleet, declared: Mapping[str, Sequence[Item]]) -> dict[str, dict[str, str]]:
    """Host -> setting -> value as it is now; what a host does not know is left out."""
    asked = {
        host: "".join(f"printf '%s\\t%s\\n' {number} \"$(look {item.call})\"\n" for number, item in enumerate(wanted))
        for host, wanted in declared.items()
    }
    found: dict[str, dict[str, str]] = {}
    for host, answer in fleet.run_each(_scripts(fleet, asked), timeout_s=TIMEOUT_S).items():
        values = dict(line.split("\t", 1) for line in answer.output.splitlines() if "\t" in line)
        told = {item.setting: values.get(str(number), "") for number, item in enumerate(declared[host])}
        found[host] = {setting: value for setting, value in told.items() if value}
    return found


def set_up(platform: Platform, fleet: Fleet) -> None:
    """Put back what another platform left, and apply what is declared where the platform's file allows it.

    What the platform accepts, and what can only be compared, is left. Raises HostError naming every host that does not
    know a setting or refuses it.
    """
    put_back(platform, fleet, of_others=True)
    if "host_settings" not in platform.may:
        return
    declared = items(platform)
    wrong = differing(declared, read(fleet, declared))
    changes = {
        host: [
            item for item in wanted if item.kind not in ONLY_READ and not accepted_reason(platform, host, item.setting)
        ]
        for host, wanted in wrong.items()
    }
    # What is kept is noted elsewhere, where nobody looks for what is to be put back.
    note = f"before=setup/{quote(platform.platform)}.{'kept' if platform.setup.keep else 'before'}\n"
    calls = {
        host: note + "".join(f"change {item.call} {quote(item.declared)}\n" for item in wanted)
        for host, wanted in changes.items()
        if wanted
    }
    _change(fleet, calls, platform)
    fleet.reconnect(host for host, wanted in changes.items() if any(item.kind == "limit" for item in wanted))


def put_back(platform: Platform, fleet: Fleet, *, of_others: bool = False) -> None:
    """Set again what was there before ``set_up``, on every host that has a note of it.

    Of this platform, or of all others. What is to be kept has no such note.
    """
    call = f"{'put_back_but' if of_others else 'put_back_of'} {quote(platform.platform)}\n"
    _change(fleet, dict.fromkeys(fleet.names, call), platform)


def _change(fleet: Fleet, calls: Mapping[str, str], platform: Platform) -> None:
    try:
        fleet.run_each(_scripts(fleet, calls), timeout_s=TIMEOUT_S)
    except HostAwayError:
        raise  # they are waited for, and nothing is wrong with what they were told
    except HostError as error:
        raise HostError(
            f"platform {platform.platform!r}: its hosts could not be set as its file declares:\n{error}\n"
            f"The login needs root for this; what exactly, 'clusterbench sudoers {platform.platform}' prints. Or "
            "accept a setting under 'setup.accepted', or take 'host_settings' out of 'may' to compare only"
        ) from None


def _scripts(fleet: Fleet, calls: Mapping[str, str]) -> dict[str, str]:
    """Host -> the functions for settings, and its calls of them, in its work folder."""
    functions = script("hosts/as_root") + script("hosts/settings")
    return {
        host: f"mkdir -p {quote(work)}/setup; cd {quote(work)}\n{functions}{calls[host]}exit $failed\n"
        for host, work in fleet.work_dirs(calls).items()
    }
