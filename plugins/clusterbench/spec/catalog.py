"""All files of one project: found by folder, so that adding one is adding a file and nothing else."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from clusterbench.base.errors import ClusterbenchError, SpecError, suggest
from clusterbench.base.paths import built_in_root, project_root
from clusterbench.spec import deprecated, in_turns
from clusterbench.spec.by_name import engine_names, workload_folder_problems
from clusterbench.spec.checks import check_experiment, check_platform, check_published
from clusterbench.spec.experiment import Experiment
from clusterbench.spec.loading import load, located
from clusterbench.spec.machine_layout import problems as machine_problems
from clusterbench.spec.placed import contradictions
from clusterbench.spec.platform import Platform
from clusterbench.spec.project import matches, project_of
from clusterbench.spec.published import Published

PLATFORMS, EXPERIMENTS, PUBLISHED = "include/platforms", "dags/experiments", "include/published"
OFFERED = "CLUSTERBENCH_PLATFORMS"
"""Which platforms an installation measures: names or patterns, with commas between; ``!`` before one excludes."""


@dataclass(frozen=True)
class Catalog:
    """The experiments, platforms and published results below ``root``, and of ``beside`` unless it hides them."""

    root: Path
    beside: Path | None = None
    _read: dict[Path, Platform] = field(default_factory=dict, repr=False, compare=False)
    """A platform's file is read once: many experiments ask for it, and DAGs are parsed often."""

    @cached_property
    def experiment_files(self) -> list[Path]:
        return self._files_of(EXPERIMENTS)

    @cached_property
    def platform_files(self) -> list[Path]:
        return self._files_of(PLATFORMS)

    @cached_property
    def _offered_files(self) -> list[Path]:
        return [file for file in self.platform_files if is_offered(file.stem)]

    @cached_property
    def published_files(self) -> list[Path]:
        return self._files_of(PUBLISHED)

    def _files_of(self, folder: str) -> list[Path]:
        roots = [*([self.beside] if self.beside else []), self.root]
        by_name = {file.name: file for root in roots for file in (root / folder).glob("*.yaml")}
        return [by_name[name] for name in sorted(by_name)]

    def experiment(self, name: str) -> Experiment:
        return self.read_experiment(self._file(self.experiment_files, "experiment", name))

    def read_experiment(self, path: Path) -> Experiment:
        """An experiment checked against the workloads and platforms that it names."""
        experiment = load(path, Experiment)
        _named_as_its_file(path, "experiment", experiment.experiment)
        platforms, published = ([file.stem for file in files] for files in (self.platform_files, self.published_files))
        if problems := check_experiment(experiment, platforms, published):
            raise SpecError([located(path, problem) for problem in problems])
        return self._with_offered_defaults(experiment)

    def _with_offered_defaults(self, experiment: Experiment) -> Experiment:
        """Of the platforms that an experiment names those offered here; of none, all offered of the same engines."""
        offered = [name for name in experiment.platforms if is_offered(name)]
        if len(offered) == len(experiment.platforms):
            return experiment
        engines = self.engines_of(experiment)
        known = [p for p in self.platforms() if p.engine in engines and p.is_for(experiment.experiment)]
        offered = offered or [platform.platform for platform in known]
        if not offered:
            return experiment
        together = [name for name in experiment.platforms_in_turns if name in offered]
        changes = {"platforms": offered, "platforms_in_turns": together if len(together) > 1 else []}
        return experiment.model_copy(update=changes)

    def experiments(self, name: str | None = None) -> list[tuple[Experiment, list[Platform]]]:
        """Every experiment with ``platforms_for`` it, if all their files are in order. Others show up in ``lint``.

        With a name, that one alone. One without a platform that is offered here is left out, and so is one that the
        project's file does not name.
        """
        found = []
        project = project_of(self.root)
        for file in self.experiment_files:
            if name not in (None, file.stem) or not matches(file.stem, project.experiments if project else ()):
                continue
            try:
                experiment = self.read_experiment(file)
                platforms = self.platforms_for(experiment)
            except SpecError:
                continue
            if any(is_offered(platform.platform) for platform in platforms):
                found.append((experiment, platforms))
        return found

    def platform(self, name: str) -> Platform:
        return self.read_platform(self._file(self.platform_files, "platform", name))

    def read_platform(self, path: Path) -> Platform:
        if path not in self._read:
            self._read[path] = self._checked_platform(path)
        return self._read[path]

    @staticmethod
    def _checked_platform(path: Path) -> Platform:
        platform = load(path, Platform)
        _named_as_its_file(path, "platform", platform.platform)
        if platform.engine not in engine_names():
            problem = f"engine: unknown engine {platform.engine!r}{suggest(platform.engine, engine_names())}"
            raise SpecError([located(path, problem)])
        if problems := check_platform(platform) + contradictions(platform) + machine_problems(platform):
            raise SpecError([located(path, problem) for problem in problems])
        return platform

    def platforms_for(self, experiment: Experiment) -> list[Platform]:
        """Every platform that could be measured: those the experiment names, and others for it of its engines."""
        named = [self.platform(name) for name in experiment.platforms]
        self.platforms_in_turns(experiment)
        engines = self.engines_of(experiment)
        known = [p for p in self.platforms() if p.engine in engines and p.is_for(experiment.experiment)]
        return [*named, *(p for p in known if p.platform not in experiment.platforms)]

    def platforms_in_turns(self, experiment: Experiment) -> list[Platform]:
        """In the order in which they are taken. Raises SpecError where they cannot be up at the same time."""
        together = [self.platform(name) for name in experiment.platforms_in_turns]
        if problems := in_turns.problems(together):
            path = self._file(self.experiment_files, "experiment", experiment.experiment)
            raise SpecError([located(path, problem) for problem in problems])
        return in_turns.in_order_of_taking(together)

    def engines_of(self, experiment: Experiment) -> set[str]:
        """Those of its platforms, and those that it has settings for."""
        return {self.platform(name).engine for name in experiment.platforms} | set(experiment.settings)

    def platforms(self) -> list[Platform]:
        """Every platform that can be run here: no template, offered, its file in order (else ``lint`` tells of it)."""
        found = []
        for file in self._offered_files:
            try:
                platform = self.read_platform(file)
            except SpecError:
                continue
            if not platform.template:
                found.append(platform)
        return found

    def published(self, name: str) -> Published:
        path = self._file(self.published_files, "published", name)
        published = load(path, Published)
        _named_as_its_file(path, "published", published.published)
        return published

    def lint(self) -> list[str]:
        """Every problem in every file, one line each; empty when all is well."""
        problems: list[str] = []
        try:
            project_of(self.root)
        except SpecError as error:
            return error.problems
        for files, read in (
            (self.experiment_files, self.read_experiment),
            (self.platform_files, self.read_platform),
            (self.published_files, lambda path: self.published(path.stem)),
        ):
            for path in files:
                try:
                    read(path)
                except SpecError as error:
                    problems += error.problems
                except ClusterbenchError as error:
                    problems.append(f"{path}: {error}")
        problems += [problem for problem in workload_folder_problems() if not any(problem in each for each in problems)]
        checks = (
            *(self._lint_published, self._lint_experiments_of_platforms, self._lint_stands_for),
            *(self._lint_layouts, self._lint_in_turns),
        )
        return problems or [problem for check in checks for problem in check()]

    def warnings(self) -> list[str]:
        """Old words in the files, which are still read, one line each."""
        return [
            warning
            for kind, files in (("experiment", self.experiment_files), ("platform", self.platform_files))
            for path in files
            for warning in deprecated.warnings(path, kind)
        ]

    def _lint_experiments_of_platforms(self) -> list[str]:
        known = [path.stem for path in self.experiment_files]
        return [
            located(path, f"experiments: unknown experiment {name!r}{suggest(name, known)}")
            for path in self.platform_files
            for name in self.read_platform(path).experiments
            if name not in known
        ]

    def _lint_stands_for(self) -> list[str]:
        """It must be a template, whose memory is the paper's."""
        platforms = {path.stem: self.read_platform(path) for path in self.platform_files}
        templates = [name for name, platform in platforms.items() if platform.template]
        return [
            located(path, f"stands_for: {name!r} is not a template of a paper's platform{suggest(name, templates)}")
            for path in self.platform_files
            if (name := platforms[path.stem].stands_for) and name not in templates
        ]

    def _lint_layouts(self) -> list[str]:
        """Layouts of one cluster exclude each other, which only who knows all of them can see to."""
        first: dict[str, Platform] = {}
        problems = []
        for path in self.platform_files:
            platform = self.read_platform(path)
            if platform.machines is None:
                continue
            other = first.setdefault(platform.cluster, platform)
            if differs := _unlike(platform, other):
                said = (
                    f"{differs}; layouts of one cluster ({platform.cluster!r}) take turns, so they must have the same"
                )
                problems.append(located(path, f"{said}. Correct one of them, or give this platform another cluster"))
        return problems

    def _lint_in_turns(self) -> list[str]:
        problems = []
        for file in self.experiment_files:
            try:
                self.platforms_in_turns(self.read_experiment(file))
            except SpecError as error:
                problems += error.problems
        return problems

    def _lint_published(self) -> list[str]:
        problems = []
        for file in self.experiment_files:
            experiment = self.read_experiment(file)
            if experiment.published:
                published = self.published(experiment.published)
                source = self._file(self.published_files, "published", experiment.published)
                problems += [located(source, problem) for problem in check_published(experiment, published)]
        return problems

    def _file(self, files: list[Path], kind: str, name: str) -> Path:
        """The file of that name; ``name`` is compared, never joined to a path."""
        for path in files:
            if path.stem == name:
                return path
        names = [path.stem for path in files]
        raise SpecError([f"unknown {kind} {name!r}{suggest(name, names)}"])


def project_catalog() -> Catalog:
    """Of the own project, whose files stand before those that are built in."""
    own, built_in = project_root(), built_in_root()
    return Catalog(own, None if own == built_in else built_in)


def is_offered(name: str) -> bool:
    """Whether this installation measures the platform, as ``CLUSTERBENCH_PLATFORMS`` says.

    Without it a project of one's own offers those that its file names, or those that it has; else all are offered.
    """
    if patterns := os.environ.get(OFFERED, "").strip():
        return matches(name, patterns.split(","))
    own = project_of(root := project_root())
    if own is None or own.platforms:
        return matches(name, own.platforms if own else ())
    return (root / PLATFORMS / f"{name}.yaml").is_file()


def _named_as_its_file(path: Path, key: str, name: str) -> None:
    """A name is its file's name, so two files can never share one."""
    if name != path.stem:
        problem = f"{key}: the name {name!r} differs from the file's; write {path.stem!r}, or rename it to {name}.yaml"
        raise SpecError([located(path, problem)])


def _unlike(one: Platform, other: Platform) -> str:
    """What two layouts of a cluster do not share, and must; begins with the key that it is about."""
    assert one.machines is not None and other.machines is not None
    pairs = (
        ("machines.connection", "hypervisor", one.machines.connection, other.machines.connection),
        (f"hosts.{one.client}.ssh", "client", one.hosts[one.client].ssh, other.hosts[other.client].ssh),
    )
    for key, what, ours, theirs in pairs:
        if ours != theirs:
            return f"{key}: its {what} is {ours!r}, and that of {other.platform!r} is {theirs!r}"
    return ""
