"""Op classes are defined at their first use, whichever use that is."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from xdsl.dialects.builtin import StringAttr, f64
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import IsolatedFromAbove, Pure
from xdsl.utils.exceptions import PyRDLOpDefinitionError, VerifyException

from wengert.dialects.stablehlo.base import TensorOp
from wengert.ir.operations import DialectOperation, op_definition
from wengert.ir.tensor_types import tensor
from wengert.ir.traits import is_pure

T = tensor((3,), f64)


class _Base(DialectOperation):
    operand = operand_def()
    result = result_def()
    traits = traits_def(Pure())


def new_class() -> type[_Base]:
    class Op(_Base):
        name = "test.op"
        note = prop_def(StringAttr, default_value=StringAttr("none"))
        traits = traits_def(IsolatedFromAbove())

    return op_definition(Op)


def new_op(cls: type[DialectOperation]) -> Operation:
    return cls.create(operands=Block(arg_types=[T]).args, result_types=[T])


def test_an_op_that_is_made_has_its_parts_and_defaults():
    op = new_op(new_class())
    assert isinstance(op, _Base)
    assert (op.operand, op.result) == (op.operands[0], op.results[0])
    assert op.properties == {"note": StringAttr("none")}
    op.verify()


def test_an_op_that_xdsl_makes_has_its_parts():
    op = new_class()(operands=Block(arg_types=[T]).args, result_types=[T], properties={"note": StringAttr("given")})
    assert op.operand is op.operands[0]
    op.verify()


def test_traits_of_base_classes_are_known_before_there_is_an_op():
    assert new_class().has_trait(Pure)
    assert new_class().has_trait(IsolatedFromAbove)
    assert is_pure(new_class())
    assert [type(t) for t in new_class().get_traits_of_type(Pure)] == [Pure]


def test_a_definition_is_read_once_and_is_that_of_xdsl():
    cls, eager = new_class(), irdl_op_definition(type("Op", (_Base,), {"name": "test.op", "__annotations__": {}}))
    definition = cls.get_irdl_definition()
    assert cls.get_irdl_definition() is definition
    assert [name for name, _ in definition.operands] == [name for name, _ in eager.get_irdl_definition().operands] == ["operand"]
    assert [*definition.properties] == ["note"]


def test_a_class_that_checks_more_is_checked_both_ways():
    @op_definition
    class Refused(TensorOp):
        name = "test.refused"
        result = result_def()

        def verify_(self) -> None:
            raise VerifyException("never right")

    with pytest.raises(VerifyException, match="never right"):
        Refused.create(result_types=[T]).verify()
    with pytest.raises(VerifyException, match="Expected 1 result"):
        Refused.create().verify()


def test_a_wrong_declaration_is_an_error_at_the_first_use():
    @op_definition
    class Wrong(DialectOperation):
        name = "test.wrong"
        extent = 3

    with pytest.raises(PyRDLOpDefinitionError, match=r"Wrong\.extent"):
        new_op(Wrong)


def test_threads_that_use_a_class_at_once_find_it_whole():
    for _ in range(20):
        cls, barrier = new_class(), Barrier(4)

        def use(cls: type[_Base] = cls, barrier: Barrier = barrier) -> bool:
            barrier.wait()
            op = new_op(cls)
            assert isinstance(op, _Base)
            return op.operand is op.operands[0] and [name for name, _ in cls.get_irdl_definition().operands] == ["operand"]

        with ThreadPoolExecutor(4) as pool:
            assert all(made.result() for made in [pool.submit(use) for _ in range(4)])


def test_ops_may_be_erased_while_those_of_their_block_are_gone_through():
    block = Block(arg_types=[T])
    block.add_ops([new_class().create(operands=[block.args[0]], result_types=[T]) for _ in range(4)])
    seen: list[Operation] = []
    for op in block.ops:
        seen.append(op)
        block.erase_op(op)
    assert len(seen) == 4
    assert block.first_op is None
    assert block.last_op is None


def test_owners_and_instances_are_what_xdsl_says():
    block = Block(arg_types=[T])
    op = new_class().create(operands=[block.args[0]], result_types=[T])
    assert isinstance(T, Attribute)
    assert not isinstance(T, StringAttr)
    assert isinstance(op, Operation)
    assert isinstance(op.results[0], SSAValue)
    assert not isinstance(op.results[0], BlockArgument)
    assert op.results[0].owner is op
    assert block.args[0].owner is block
    assert isinstance(block.args[0].owner, Block)
