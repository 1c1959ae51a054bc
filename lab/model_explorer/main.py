"""The extension that Model Explorer loads by ``--extensions=wengert.lab.model_explorer``: an adapter for ``.mlir``, and node data for its graphs.

The package is the extra ``model-explorer``. The adapter's graphs are ``program``, ``reverse derivative``, and one for each function that is called; ops of
the program have the same names in both, so that *sync navigation by node id* selects them together in two panes.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from importlib import import_module
from os import stat
from typing import TYPE_CHECKING, Any, ClassVar

from wengert.ir.diagnostics import DiagnosticError
from wengert.lab.model_explorer.convert import to_builder
from wengert.lab.model_explorer.graphs import graphs_of_file
from wengert.lab.model_explorer.nested import MEASURES, LayeredGraph
from wengert.runtime.errors import InputError

if TYPE_CHECKING:  # the package is optional
    Adapter = NodeDataProvider = object
else:
    from model_explorer import Adapter, NodeDataProvider

_explorer: Any = import_module("model_explorer")
ADAPTER = "wengert"
_GRADIENT = ("#fff7ec", "#d7301f")
_PREFIX = "wengert_"


class WengertAdapter(Adapter):
    """Programs in MLIR with their reverse derivative."""

    metadata = _explorer.AdapterMetadata(
        id=ADAPTER, name="wengert", description="A program and its reverse derivative, in layers by source line and region, with costs", fileExts=["mlir"]
    )

    def convert(self, model_path: str, settings: dict[str, Any]) -> dict[str, list[Any]]:
        """The graphs of a file; raises what :func:`~wengert.lab.model_explorer.graphs.graphs_of_file` raises, which Model Explorer shows."""
        return {"graphs": to_builder(_graphs(model_path))}


class WengertNodeData(NodeDataProvider):
    """Colours nodes by their cost: operations, bytes of results, bytes that are kept."""

    metadata: ClassVar[list[Any]] = [
        _explorer.NodeDataProviderMetadata(
            id=_PREFIX + measure.replace(" ", "_"),
            name=measure,
            description=text,
            icon="bar_chart",
            filter=_explorer.NodeDataProviderFilter(modelFileExts=["mlir"], adapterIds=[ADAPTER]),
        )
        for measure, text in MEASURES.items()
    ]

    def get_config_editors(self, provider_id: str) -> Any:
        """There is nothing to set."""
        return _explorer.GetConfigEditorsResult([])

    def run(self, provider_id: str, model_path: str, graph_id: str, config_values: dict[str, Any], graph: Any) -> Any:
        """The numbers of a graph's nodes."""
        measure = provider_id.removeprefix(_PREFIX).replace("_", " ")
        try:
            graphs = [known for known in _graphs(model_path) if known.name == graph_id]
        except (DiagnosticError, InputError, OSError) as error:
            return _explorer.NodeDataProviderResult(error=str(error))
        if not graphs:
            return _explorer.NodeDataProviderResult(error=f"{model_path} has no graph {graph_id!r}")
        return _explorer.NodeDataProviderResult(result=node_data(graphs[0], measure))


def node_data(graph: LayeredGraph, measure: str) -> Any:
    """The numbers of a measure as ``model_explorer.node_data_builder.GraphNodeData``."""
    data = _explorer.node_data_builder
    results = {node.name: data.NodeDataResult(node.numbers[measure]) for node in graph.nodes if measure in node.numbers}
    return data.GraphNodeData(results, measure, gradient=[data.GradientItem(stop, colour) for stop, colour in enumerate(_GRADIENT)])


def _take_precedence() -> None:
    """Leaves ``.mlir`` to this adapter. Model Explorer takes the first one for an extension, and its own, loaded before, would win over the one that the user
    has asked for; without ``--extensions`` it is as it was."""
    own: Any = sys.modules.get("model_explorer.builtin_mlir_adapter")
    if own is not None:
        kept = own.BuiltinMlirAdapter.metadata
        kept.fileExts = [extension for extension in kept.fileExts if extension != "mlir"]


def _graphs(path: str) -> tuple[LayeredGraph, ...]:
    known = stat(path)
    return _read(path, known.st_mtime_ns, known.st_size)


@lru_cache(maxsize=4)
def _read(path: str, changed: int, length: int) -> tuple[LayeredGraph, ...]:
    """The graphs of a file in this state: node data is asked for one measure after another."""
    return graphs_of_file(path)


_take_precedence()
