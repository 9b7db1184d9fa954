"""``clusterbench verify``: a run read back from the archive, object by object."""

from __future__ import annotations

import argparse
import sys

from clusterbench.cli.common import FAILED, OK, add_run, archive_of


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    verify = commands.add_parser(
        "verify", help="read a run back from the archive and compare every object with its manifest"
    )
    add_run(verify)
    verify.set_defaults(command=_verify)


def _verify(options: argparse.Namespace) -> int:
    archive = archive_of(options.run)
    problems = archive.verify()
    for problem in problems:
        print(problem, file=sys.stderr)
    listed = (archive.get_json("manifest.json") or {}).get("objects", {})
    print(f"{archive.url}: {len(listed)} objects in the manifest, {len(problems) or 'no'} problems")
    return FAILED if problems else OK
