"""Every table, as one."""

from __future__ import annotations

import array_programs
import control_programs
import indexing_programs
import learning_programs
import linalg_programs
import simulation_programs
import transform_programs
from program_table import JaxProgram

PROGRAMS: dict[str, JaxProgram] = {}
for module in (control_programs, indexing_programs, array_programs, linalg_programs, learning_programs, simulation_programs, transform_programs):
    assert not PROGRAMS.keys() & module.P.keys(), PROGRAMS.keys() & module.P.keys()
    PROGRAMS.update(module.P)
