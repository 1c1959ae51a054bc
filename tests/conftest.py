"""What all tests share: settings of hypothesis and XLA, folders of their own for what wengert writes, and XLA as an oracle."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path

# Workers run side by side, so each computes on one core. This has to be said before NumPy is imported.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "WENGERT_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# JAX is an oracle, which computes small things once: code generated quickly is what is wanted of it. The emitters of jaxlib 0.10.2
# miscompile some f64 programs. XLA reads this when it first runs, whichever test that is.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_cpu_use_fusion_emitters=false --xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true "
    "--xla_disable_hlo_passes=simplify-while-loops,while-loop-trip-count-annotator",
)
os.environ.setdefault("JAX_PLATFORMS", "cpu")

# Which share of the reference programs this run takes; workers inherit it.
os.environ.setdefault("WENGERT_TEST_ROTATION", str(date.today().toordinal() % 1000))

import pytest
from hypothesis import HealthCheck, settings
from stablehlo_bytes import stablehlo_bytes  # noqa: F401, a fixture
from upstream_verifier import upstream  # noqa: F401, a fixture
from xla_oracle import xla  # noqa: F401, a fixture

from wengert.ir import plugins

# Time limits measure the machine, not the code; a failure prints what reproduces it.
settings.register_profile("wengert", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("wengert")


def pytest_report_header() -> str:
    """Says whether tests against the reference programs will run."""
    corpus = os.environ.get("WENGERT_CORPUS")
    if corpus is None:
        return "reference programs: none; set WENGERT_CORPUS to test against them"
    return f"reference programs: {corpus}, rotation {os.environ['WENGERT_TEST_ROTATION']}"


@pytest.fixture(scope="session", autouse=True)
def _folders(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A cache of compiled code for this run, shared by all workers, and a folder for reproducers."""
    shared: Path = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    os.environ["WENGERT_CACHE"] = str(shared / "cache")
    plugins._REGISTERING.add("tests")  # they replace parts of the compiler: what one of them compiles must not be known to another
    os.environ["WENGERT_REPRODUCER_DIR"] = str(shared / "reproducers")
    os.environ.pop("WENGERT_DUMP_DIR", None)


@pytest.fixture(autouse=True)
def _forgotten_modules() -> Iterator[None]:
    """Plug-ins that a test loads, and modules that it imports from its own folder, are forgotten behind it: the next one may call its own the same."""
    loaded, imported, path = dict(plugins.LOADED), set(sys.modules), list(sys.path)
    yield
    sys.path[:] = path
    plugins.LOADED.clear()
    plugins.LOADED.update(loaded)
    for name in sys.modules.keys() - imported:
        if f"{os.sep}pytest-of-" in (getattr(sys.modules[name], "__file__", None) or ""):
            del sys.modules[name]
