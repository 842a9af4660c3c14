"""Which parts a cluster has, and what each needs of a machine."""

from __future__ import annotations

from dataclasses import dataclass

from scalerl.recipe.sections import RuntimeSection

Bundle = dict[str, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """Generators first, then trainers: the order of the bundles of their placement group.

    >>> Layout.of(RuntimeSection(generators=2, trainers=1, tensor_parallel=4), has_gpus=True).bundles
    ({'CPU': 1.0, 'GPU': 4.0}, {'CPU': 1.0, 'GPU': 4.0}, {'CPU': 1.0, 'GPU': 1.0})
    """

    generators: int
    tensor_parallel: int
    trainers: int
    verifiers: int
    has_gpus: bool

    @classmethod
    def of(cls, runtime: RuntimeSection, *, has_gpus: bool) -> Layout:
        """The layout that a recipe names."""
        return cls(
            generators=runtime.generators,
            tensor_parallel=runtime.tensor_parallel,
            trainers=runtime.trainers,
            verifiers=runtime.verifiers,
            has_gpus=has_gpus,
        )

    @property
    def num_devices(self) -> int:
        """GPUs in all; on CPUs each process of generators and trainers counts as one."""
        return self.generators * self.tensor_parallel + self.trainers

    @property
    def generator(self) -> Bundle:
        """What one generator needs."""
        return self._bundle(self.tensor_parallel)

    @property
    def trainer(self) -> Bundle:
        """What one trainer rank needs."""
        return self._bundle(1)

    @property
    def bundles(self) -> tuple[Bundle, ...]:
        """What the placement group reserves; verifiers go wherever there is room."""
        return (*[self.generator] * self.generators, *[self.trainer] * self.trainers)

    def _bundle(self, gpus: int) -> Bundle:
        # A CPU core runs more than one process well enough for tests; Ray only counts.
        return {"CPU": 1.0, "GPU": float(gpus)} if self.has_gpus else {"CPU": 0.25}
