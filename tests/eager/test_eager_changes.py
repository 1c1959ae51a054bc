"""Changes in place and views, on PyTorch and on wengert.eager: values, gradients, graphs and kinds of errors agree."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from side_by_side import Snippet, Snippets, agree, graph, kind_of_error, leaf

snippet = Snippets()


# -- changes in place and versions


@snippet
def in_place_chain(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    y = x * 2
    y.add_(1).mul_(3)
    shape = graph(y)
    y.sum().backward()
    return y, shape, y._version, x.grad


@snippet
def in_place_with_a_tracked_operand(T: Any) -> Any:
    x, w = leaf(T, 1.0, 2.0), leaf(T, 3.0, 4.0)
    y = x + 1
    y *= w
    y.sum().backward()
    return y, x.grad, w.grad


@snippet
def untracked_becomes_tracked(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    total = T.zeros(2)
    for _ in range(3):
        total += x * x + x
    total.sum().backward()
    return total.requires_grad, total.is_leaf, graph(total), x.grad


@snippet
def kept_then_added_to(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    total = T.zeros(2)
    for _ in range(2):
        total += x * total
    return kind_of_error(total.sum().backward)


@snippet
def kept_result_changed(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    y = x.exp()
    y.add_(1)
    return kind_of_error(y.sum().backward)


@snippet
def kept_operand_changed(T: Any) -> Any:
    x, w = leaf(T, 1.0, 2.0), T.tensor([3.0, 4.0])
    y = x * w
    w.add_(1)
    return kind_of_error(y.sum().backward)


@snippet
def changed_leaf_under_no_grad(T: Any) -> Any:
    w, v = leaf(T, 1.0, 2.0), leaf(T, 3.0, 4.0)
    y = w * v
    with T.no_grad():
        w.add_(1)
    return kind_of_error(y.sum().backward)


@snippet
def changed_but_not_needed(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    y = x + 1
    z = y * 2
    y.mul_(5)
    z.sum().backward()
    return x.grad


@snippet
def quotient_changed(T: Any) -> Any:
    x, w = leaf(T, 1.0, 2.0), leaf(T, 3.0, 4.0)
    y = x / w
    y.add_(1)
    y.sum().backward()
    return x.grad, w.grad


@snippet
def leaf_changed_in_place(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)

    def assign() -> None:
        x[0] = 5.0

    return kind_of_error(lambda: x.add_(1)), kind_of_error(lambda: x[0].mul_(2)), kind_of_error(assign), x


@snippet
def wrong_changes(T: Any) -> Any:
    whole, row = T.tensor([1, 2]), T.ones(3)
    return (
        kind_of_error(lambda: whole.add_(1.5)),
        kind_of_error(lambda: row.add_(T.ones(2, 3))),
        kind_of_error(lambda: row.expand(2, 3).add_(1)),
        kind_of_error(lambda: row + T.ones(2)),
        kind_of_error(lambda: T.ones(2, 3) @ T.ones(2, 3)),
        kind_of_error(lambda: row.view(2)),
        kind_of_error(lambda: T.ones(2, 3).t().view(6)),
        kind_of_error(lambda: row[5]),
    )


@snippet
def relu_in_place(T: Any) -> Any:
    x = leaf(T, -1.0, 2.0)
    y = x * 3
    y.relu_()
    y.sum().backward()
    return y, graph(y), x.grad


@snippet
def exp_in_place(T: Any) -> Any:
    x = leaf(T, 0.5, 1.0)
    y = (x * 2).exp_()
    y.sum().backward()
    return y, x.grad


@snippet
def filled_and_zeroed(T: Any) -> Any:
    x = leaf(T, 0.5, 1.0)
    y, z = x * 2, x * 3
    y.fill_(4.0)
    z.zero_()
    (y.sum() + z.sum() + x.sum()).backward()
    return y, z, y.requires_grad, x.grad


# -- views


@snippet
def view_shares_memory(T: Any) -> Any:
    base = T.zeros(2, 3)
    view = base[0]
    view.add_(1)
    base.view(6)[5] = 7.0
    return base, view, view._base is base, view._version, base._version


@snippet
def change_through_a_view(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0, 3.0)
    y = x * 1
    y[0].mul_(10)
    shape = graph(y)
    y.sum().backward()
    return y, shape, x.grad


@snippet
def assignment(T: Any) -> Any:
    x, w = leaf(T, 1.0, 2.0, 3.0), leaf(T, 5.0)
    y = x * x
    y[1:2] = w * 2
    y[0] = 0.0
    y.sum().backward()
    return y, x.grad, w.grad


@snippet
def assignment_into_a_buffer(T: Any) -> Any:
    x = leaf(T, 0.5)
    rows = T.zeros(3, 1)
    for i in range(3):
        rows[i] = x * (i + 1) if i == 0 else rows[i - 1].clone() * x
    rows.sum().backward()
    return rows, x.grad, graph(rows)[0]


@snippet
def assignment_by_index(T: Any) -> Any:
    x, w = leaf(T, 1.0, 2.0, 3.0), leaf(T, 5.0, 6.0)
    y = x * 2
    y[T.tensor([2, 0])] = w * w
    y[y > 30] = 0.0
    y.sum().backward()
    return y, x.grad, w.grad


@snippet
def steps_and_transposes_written_through(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    y = (x * 1).view(2, 3)
    y.t()[::2, 1].mul_(7)
    y[:, 1].add_(x[:2])
    y.sum().backward()
    return y, x.grad


@snippet
def base_changed_view_follows(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    y = x * 1
    view = y[0]
    y.mul_(3)
    view.backward()
    return view, x.grad


@snippet
def other_view_follows(T: Any) -> Any:
    x = leaf(T, 2.0)
    y = T.zeros(3)
    first, rest = y[0], y[:2]
    rest[0] = (x * x)[0]
    wanted = first.requires_grad, y.requires_grad
    (first * 3).backward()
    return wanted, first, x.grad


@snippet
def view_kept_then_base_changed(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    y = x * 1
    z = y[0] * y[1]
    y.add_(1)
    return kind_of_error(z.backward)


@snippet
def several_views_at_once(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0, 3.0)
    first, _ = (x * 1).split(2)
    return kind_of_error(lambda: first.add_(1)), graph(first)


@snippet
def view_made_without_grad(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    y = x * 1
    with T.no_grad():
        view = y[0]
    return view._base is y, kind_of_error(lambda: view.add_(1))


@snippet
def base_made_a_leaf(T: Any) -> Any:
    base = T.zeros(3)
    view = base[1:]
    base.requires_grad_()
    return kind_of_error(lambda: view.add_(1)), base._version


@snippet
def indexed_by_truth(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0, 3.0)
    y = x * 2
    whole, nothing, point = y[True], y[False], y[0][T.tensor(True)]
    y[True] = x * 5
    (y.sum() + whole.sum() + nothing.sum() + point.sum()).backward()
    return whole, nothing, point, tuple(nothing.shape), x.grad


@snippet
def results_put_elsewhere(T: Any) -> Any:
    x, out = T.ones(3), T.zeros(3)
    same = T.add(x, x, out=out) is out
    wrong = kind_of_error(lambda: T.sin(leaf(T, 1.0, 2.0, 3.0), out=out)) != "none"
    return same, out, wrong, out._version


@snippet
def flags_and_gradients_that_are_set(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    y = x * 2

    def refused(action: Any) -> bool:
        try:
            action()
        except (TypeError, RuntimeError):
            return True
        return False

    actions = [
        lambda: setattr(y, "requires_grad", False),
        lambda: setattr(T.tensor([1, 2]), "requires_grad", True),
        lambda: setattr(x, "grad", T.ones(3)),
        lambda: setattr(x, "grad", T.ones(2, dtype=T.float64)),
        lambda: setattr(x, "grad", 3.0),
        lambda: setattr(x, "grad", x),
        lambda: copy.deepcopy(y),
        lambda: setattr(x, "requires_grad", False),
    ]
    return [refused(action) for action in actions], x.requires_grad


@snippet
def copied_and_stored(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    (x * x).sum().backward()
    y, z = copy.deepcopy(x), pickle.loads(pickle.dumps(x))
    (y * z).sum().backward()
    return y.grad, z.grad, x.grad, y.is_leaf, f"{x.sum().item():.3f} {x.detach().sum():.2f}"


@pytest.mark.parametrize("code", snippet, ids=lambda code: code.__name__)
def test_snippet(code: Snippet) -> None:
    agree(code)
