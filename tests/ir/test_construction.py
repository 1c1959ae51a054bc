"""What :mod:`wengert.ir.construction` makes is what xDSL's own constructors make."""

import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnregisteredOp, f64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.irdl import VariadicDef
from xdsl.irdl.operations import BaseAccessor, BeforeVariadicSingleAccessor, UniqueVariadicAccessor, get_accessors_from_op_def

import wengert as wg
from wengert.dialects import ad, chlo, core, kernel
from wengert.dialects import stablehlo as hlo
from wengert.dialects.stablehlo.base import UnaryOp
from wengert.ir.construction import append, block_with, copy_module, copy_op, erase, erase_arguments, insert_before, replace_uses
from wengert.ir.location.locations import called_from
from wengert.ir.operations import DialectOperation, set_operands
from wengert.ir.printing.printer import print_module
from wengert.ir.tensor_types import tensor
from wengert.ir.traversal import operands_of, ops_in
from wengert.ir.verification.verifier import verify

T = tensor((3,), f64)
LOOP = """
func.func public @main(%n: tensor<i32>, %x: tensor<3xf64>) -> tensor<3xf64> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %out:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<3xf64> cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %z = stablehlo.multiply %y, %x : tensor<3xf64>
    stablehlo.return %j, %z : tensor<i32>, tensor<3xf64>
  }
  return %out#1 : tensor<3xf64>
}"""


def users(value: SSAValue) -> list[tuple[Operation, int]]:
    return [(use.operation, use.index) for use in value.uses]


def test_a_block_is_the_one_that_xdsl_makes():
    ours, plain = block_with([T, f64]), Block(arg_types=[T, f64])
    assert [vars(argument) | {"block": plain} for argument in ours.args] == [vars(argument) for argument in plain.args]
    assert vars(ours).keys() == vars(plain).keys()
    assert all(argument.block is ours and argument.first_use is None and argument.name_hint is None for argument in ours.args)


def test_arguments_are_erased_together():
    kinds = [tensor((n,), f64) for n in range(1, 6)]
    block, expected = block_with(kinds), Block(arg_types=kinds)
    erase_arguments(block, [block.args[n] for n in (3, 0)])
    for n in (3, 0):
        expected.erase_arg(expected.args[n])
    assert [(a.type, a.index, a.block is block) for a in block.args] == [(a.type, a.index, True) for a in expected.args]
    append(block, UnregisteredOp.with_name("test.use").create(operands=[block.args[1]]))
    with pytest.raises(ValueError, match="is used"):
        erase_arguments(block, [block.args[0], block.args[1]])
    with pytest.raises(ValueError, match="another block's"):
        erase_arguments(block, [expected.args[0]])
    assert len(block.args) == 3


def test_operands_are_replaced_as_by_xdsl():
    block = Block(arg_types=[T, T])
    a, b = block.args
    ours, plain = hlo.AddOp.create(operands=[a, b], result_types=[T]), hlo.AddOp.create(operands=[a, b], result_types=[T])
    set_operands(ours, [b, b])
    plain.operands = [b, b]
    assert list(ours.operands) == list(plain.operands) == [b, b]
    assert users(a) == []
    assert sorted(index for op, index in users(b) if op is ours) == [0, 1] == sorted(index for op, index in users(b) if op is plain)


def test_an_op_is_the_one_that_xdsl_makes():
    block = Block(arg_types=[T, T])
    a, b = block.args
    ours = hlo.AddOp.create(operands=[a, a], result_types=[T], attributes={"note": StringAttr("here")})
    plain = object.__new__(hlo.AddOp)
    Operation.__init__(plain, operands=[a, b], result_types=[T], attributes={"note": StringAttr("here")})
    assert users(a) == [(plain, 0), (ours, 1), (ours, 0)]
    assert users(b) == [(plain, 1)]
    for op in (ours, plain):
        assert op.parent is None
        assert op.regions == ()
        assert op.properties == {}
        assert len(op.successors) == 0
        assert op.results[0].owner is op
        assert op.results[0].index == 0
        assert op.results[0].type == T
        assert op.results[0].first_use is None
    assert {*vars(plain)} - {*vars(ours)} == {"_successors", "_successor_uses"}  # there xDSL's defaults are the right ones
    assert ours.attributes == plain.attributes
    assert ours.location == plain.location
    assert len({ours, plain, ours}) == 2
    assert ours != plain


def test_a_region_belongs_to_one_op():
    region = Region(Block())
    hlo.CaseOp.create(operands=[Block(arg_types=[tensor((), f64)]).args[0]], regions=[region])
    with pytest.raises(ValueError, match="region of another op"):
        hlo.CaseOp.create(operands=[Block(arg_types=[tensor((), f64)]).args[0]], regions=[region])


def test_ops_stand_where_they_are_put():
    block = Block(arg_types=[T])
    a, b, c, d = (hlo.NegateOp.create(operands=block.args, result_types=[T]) for _ in range(4))
    append(block, b)
    append(block, d)
    insert_before(b, a)
    insert_before(d, c)
    assert list(block.ops) == [a, b, c, d]
    assert block.first_op is a
    assert block.last_op is d
    assert [op.prev_op for op in (a, b, c, d)] == [None, a, b, c]
    assert all(op.parent is block for op in (a, b, c, d))
    for op, left in ((b, [a, c, d]), (a, [c, d]), (d, [c]), (c, [])):
        erase(op)
        assert list(block.ops) == left
        assert op.parent is None
        assert op.next_op is None
        assert op.prev_op is None
    assert block.first_op is None
    assert block.last_op is None
    assert not users(block.args[0])


def test_uses_move_to_another_value():
    block = Block(arg_types=[T, T])
    a, b = block.args
    a.name_hint = "a"
    first = hlo.AddOp.create(operands=[a, a], result_types=[T])
    second = hlo.SubtractOp.create(operands=[b, a], result_types=[T])
    replace_uses(a, a)
    replace_uses(a, b)
    assert users(a) == []
    assert {*users(b)} == {(first, 0), (first, 1), (second, 0), (second, 1)}
    assert list(first.operands) == [b, b]
    assert list(second.operands) == [b, b]
    assert b.name_hint == "a"
    second.operands[1] = a  # xDSL goes on with the lists of uses as we left them
    assert users(a) == [(second, 1)]
    assert {*users(b)} == {(first, 0), (first, 1), (second, 0)}


def test_a_module_is_copied_whole():
    module = wg.parse(LOOP).module
    before = print_module(module, locations=True)
    copy = copy_module(module)
    assert isinstance(copy, ModuleOp)
    assert not {*module.walk()} & {*copy.walk()}
    assert print_module(copy, locations=True) == before == print_module(module.clone(), locations=True)
    verify(copy)
    assert [v.name_hint for op in copy.walk() for v in op.results] == [v.name_hint for op in module.walk() for v in op.results]


def test_an_op_is_copied_with_other_operands():
    block = Block(arg_types=[T, T])
    a, b = block.args
    op = hlo.NegateOp.create(operands=[a], result_types=[T], location=called_from(wg.parse(LOOP).module.location, wg.parse(LOOP).module.location))
    values: dict[SSAValue, SSAValue] = {a: b}
    copy = copy_op(op, values)
    assert list(copy.operands) == [b]
    assert values[op.results[0]] is copy.results[0]
    assert copy.location == op.location


def test_branches_and_unknown_ops_are_copied_as_xdsl_does():
    other = UnregisteredOp.with_name("elsewhere.op").create(result_types=[T])
    assert copy_op(other, {}).results[0].type == T
    entry, target = Block(), Block()
    region = Region([entry, target])
    owner = core.CaseOp.create(regions=[region])
    append(entry, UnregisteredOp.with_name("elsewhere.br").create(successors=[target]))
    copied = copy_op(owner, {}).regions[0]
    first, second = copied.blocks
    assert first.first_op is not None
    assert first.first_op.successors[0] is second


OURS: list[type[DialectOperation]] = [
    op for dialect in (hlo.StableHLO, chlo.Chlo, core.Core, ad.AD, kernel.Kernel) for op in dialect.operations if issubclass(op, DialectOperation)
]


@pytest.mark.parametrize("cls", OURS, ids=lambda cls: cls.name)
def test_named_parts_are_those_that_xdsl_reads(cls: type[DialectOperation]):
    """Every operand, result and region that a class names, read our way and by the accessors that xDSL makes of the same definition."""
    definition = cls.get_irdl_definition()
    parts = {"operands": definition.operands, "results": definition.results, "regions": definition.regions}
    count = {name: len(defs) + 2 * any(isinstance(d, VariadicDef) for _, d in defs) for name, defs in parts.items()}
    values = Block(arg_types=[T] * count["operands"]).args
    op = cls.create(operands=values, result_types=[T] * count["results"], regions=[Region(Block()) for _ in range(count["regions"])])
    accessors: dict[str, BaseAccessor] = {name: a for name, a in get_accessors_from_op_def(definition, None).items() if isinstance(a, BaseAccessor)}
    compared = 0
    for name, accessor in accessors.items():
        if isinstance(accessor, BeforeVariadicSingleAccessor | UniqueVariadicAccessor):
            assert getattr(op, name) == accessor.index(tuple(getattr(op, f"{accessor.construct.name.lower()}s")))
            compared += 1
        with pytest.raises((AttributeError, NotImplementedError)):
            setattr(op, name, None)
    assert compared or not accessors


def test_isinstance_asks_for_the_class():
    op = hlo.NegateOp.create(operands=Block(arg_types=[T]).args, result_types=[T])
    assert isinstance(op, hlo.NegateOp)
    assert isinstance(op, UnaryOp | hlo.AddOp)
    assert isinstance(op, DialectOperation)
    assert not isinstance(op, hlo.AddOp)
    assert issubclass(hlo.NegateOp, Operation)


def test_what_an_op_uses_and_a_block_holds():
    block = Block(arg_types=[T, T])
    op = hlo.AddOp.create(operands=block.args, result_types=[T])
    append(block, op)
    assert operands_of(op) == tuple(op.operands)
    assert ops_in(block) == list(block.ops) == [op]
    assert ops_in(Block()) == []
