"""How programs are spread over devices in practice: schedules of pipelines, weights in shards, rings and butterflies by hand, experts with capacity."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P
from mesh import ln, m1, m2, normal, smap, vary

RING = [(a, (a + 1) % 4) for a in range(4)]


@smap(m1, (P(None, "x"), P()), P(None, "x"), normal(2, 4, 5, 5) * 0.4, normal(3, 2, 5))
def interleaved_pipeline(w, micro):
    """Two stages a device: what leaves the last device goes through the ring once more."""
    i = lax.axis_index("x")

    def tick(c, t):
        here, done = c
        turn = (t - i) // 4
        x = jnp.where((i == 0) & (turn == 0), micro[jnp.clip(t, 0, 2)], here)
        y = jnp.tanh(x @ lax.dynamic_index_in_dim(w[:, 0], jnp.clip(turn, 0, 1), 0, keepdims=False))
        done = jnp.where((i == 3) & (turn == 1), done + y, done)
        return (lax.ppermute(y, "x", RING), done), jnp.sum(y**2) * (turn == 1)

    (_, done), energies = lax.scan(jax.checkpoint(tick), (vary(jnp.zeros((2, 5))), vary(jnp.zeros((2, 5)))), jnp.arange(8))
    return (done * (1 + energies.sum()))[:, None]


@smap(m1, (P(None, "x"), P(None, None, "x"), P("x")), P("x"), normal(3, 8, 6) * 0.4, normal(3, 6, 8) * 0.4, normal(4, 8))
def weights_gathered_by_layer(w1, w2, x):
    """Weights in shards that are gathered for one layer at a time, and again for its reverse sweep."""

    @jax.checkpoint
    def layer(x, w):
        up, down = lax.all_gather(w[0], "x", axis=0, tiled=True), lax.all_gather(w[1], "x", axis=1, tiled=True)
        return x + jax.nn.silu(ln(x) @ up) @ down, jnp.vdot(x, x)

    y, norms = lax.scan(layer, x, (w1, w2))
    return y * lax.psum(norms, "x")[-1]


@smap(m2, (P("a", "b"), P("b", "a"), P("a", "b")), P("a", "b"), normal(4, 6), normal(6, 8) * 0.4, normal(8, 6) * 0.4)
def two_axes_of_tensors(x, w1, w2):
    """Rows over one axis and columns over the other: weights gathered over one, products summed and split over the other."""
    h = lax.psum_scatter(x @ lax.all_gather(w1, "a", axis=1, tiled=True), "b", scatter_dimension=1, tiled=True)
    rows = lax.all_gather(w2, "a", axis=0, tiled=True)
    columns = lax.all_gather(jax.nn.gelu(h), "b", axis=1, tiled=True)
    return x + columns @ rows


@smap(m2, (P("a", "b"), P()), P("a", "b"), normal(6, 8), normal(3, 3) * 0.5)
def periodic_halo_with_corners(u, k):
    """A convolution of what lies around a torus: rows first, then columns with the corners that came with the rows."""

    def wrap(u, dim, axis):
        turn = [(0, 1), (1, 0)]
        first = lax.ppermute(lax.slice_in_dim(u, u.shape[dim] - 1, u.shape[dim], axis=dim), axis, turn)
        return jnp.concatenate([first, u, lax.ppermute(lax.slice_in_dim(u, 0, 1, axis=dim), axis, turn)], dim)

    for _ in range(2):
        w = wrap(wrap(u, 0, "a"), 1, "b")
        u = jnp.tanh(lax.conv_general_dilated(w[None, None], k[None, None], (1, 1), "VALID")[0, 0]) + 0.5 * u
    return u


@smap(m1, (P("x"), P(), P("x")), (P("x"), P()), normal(24, 5), normal(5, 8), normal(8, 5, 5) * 0.5)
def experts_with_capacity(x, router, w):
    """Two experts a device, two choices a token, two slots an expert: later tokens are dropped. Dispatched by scatters, with a loss that balances."""
    gates = jax.nn.softmax(x @ router, -1)
    weight, expert = lax.top_k(gates, 2)
    hot = jax.nn.one_hot(expert.T.reshape(-1), 8, dtype=int)
    slot = ((jnp.cumsum(hot, 0) - 1) * hot).sum(-1)
    kept = slot < 2
    at = jnp.where(kept, expert.T.reshape(-1) * 2 + slot, 16)
    sent = jnp.zeros((17, 5)).at[at].add(jnp.tile(x, (2, 1)))[:16].reshape(4, 2, 2, 5)
    met = lax.all_to_all(sent, "x", 0, 0)
    y = jax.nn.relu(jnp.einsum("desc,ecf->desf", met, w))
    back = lax.all_to_all(y, "x", 0, 0).reshape(16, 5)
    got = jnp.where(kept[:, None], back[jnp.clip(at, 0, 15)], 0).reshape(2, 6, 5)
    load = lax.pmean(hot.mean(0).astype(x.dtype), "x") @ lax.pmean(gates.mean(0), "x")
    return jnp.einsum("kt,ktc->tc", weight.T / weight.sum(-1), got), load


@smap(m1, (P("x"),), P("x"), normal(4, 8))
def ring_sum_by_hand(x):
    """Reduce-scatter and all-gather as two loops of messages to the neighbour, with chunks at places that depend on the device."""
    i, chunks = lax.axis_index("x"), x.reshape(4, 2)

    def reduce(t, c):
        got = lax.ppermute(lax.dynamic_index_in_dim(c, (i - t) % 4, 0), "x", RING)
        at = (i - t - 1) % 4
        return lax.dynamic_update_index_in_dim(c, got + lax.dynamic_index_in_dim(c, at, 0), at, 0)

    def gather(t, c):
        got = lax.ppermute(lax.dynamic_index_in_dim(c, (i + 1 - t) % 4, 0), "x", RING)
        return lax.dynamic_update_index_in_dim(c, got, (i - t) % 4, 0)

    return jnp.sin(lax.fori_loop(0, 3, gather, lax.fori_loop(0, 3, reduce, chunks))).reshape(1, 8)


@smap(m1, (P("x"),), P("x"), normal(4, 6))
def butterfly_logsumexp(x):
    """Partners at distances one and two combine what each has: stable, and no sum over all."""
    top, total = x.max(-1), jnp.exp(x - x.max(-1, keepdims=True)).sum(-1)
    for bit in (1, 2):
        swap = [(d, d ^ bit) for d in range(4)]
        other, share = lax.ppermute(top, "x", swap), lax.ppermute(total, "x", swap)
        both = jnp.maximum(top, other)
        top, total = both, total * jnp.exp(top - both) + share * jnp.exp(other - both)
    return x - (top + jnp.log(total))[:, None]


@smap(m1, (P("x"), P("x")), (P("x"), P()), normal(8, 3) * 0.3, normal(8, 3))
def recurrence_across_devices(a, b):
    """h[t] = a[t] h[t-1] + b[t]: scanned on each device, with the products of those before it."""

    def combine(p, q):
        return p[0] * q[0], q[0] * p[1] + q[1]

    decay, h = lax.associative_scan(combine, (a, b))
    decays, ends = lax.all_gather((decay[-1], h[-1]), "x")
    i, carried = lax.axis_index("x"), jnp.zeros(3)
    for d in range(3):
        carried = jnp.where(d < i, decays[d] * carried + ends[d], carried)
    y = h + decay * carried
    return y, lax.psum(jnp.where(i == 3, y[-1], 0), "x")


@smap(m1, (P("x"), P()), P("x"), normal(8, 5), normal(5))
def attention_over_split_keys(kv, q):
    """One query over keys on all devices, each part with its own maximum; `vmap` over heads around the collectives."""

    def head(q, kv):
        s = kv @ q
        top = lax.pmax(lax.stop_gradient(s.max()), "x")
        e = jnp.exp(s - top)
        return lax.psum(e @ kv, "x") / lax.psum(e.sum(), "x")

    heads = jax.vmap(head, (0, None))(jnp.stack([q, -q, q**2]), kv)
    return kv @ heads.T


@smap(m1, (P("x"), P("x")), P("x"), normal(8, 6), normal(4))
def batched_exchanges(x, w):
    """Exchanges, gathers and messages within `vmap`, whose axis stands before the dimensions that they name."""

    def one(r, s):
        r = r.reshape(4, 3)
        there = lax.all_to_all(r, "x", 0, 0) * s
        all_of = lax.all_gather(jnp.sin(there), "x", axis=1)
        back = lax.psum_scatter(all_of.sum(0), "x", scatter_dimension=0) + lax.ppermute(r[1], "x", [(0, 2), (2, 3)])
        return back * (1 + lax.axis_index("x"))

    return jax.vmap(jax.vmap(one, (0, None)), (None, 0), out_axes=1)(jnp.concatenate([x, x * 2], -1), w)


@smap(m1, (P("x"), P()), P(), normal(8, 3), normal(3))
def newton_inside(x, w):
    """Newton's method for a loss of all devices: gradient and Hessian taken inside, in a loop until the step is small."""

    def loss(w):
        return lax.pmean(jnp.mean(jnp.logaddexp(0, x @ w)), "x") + 0.05 * w @ w

    def step(c):
        w, _, k = c
        d = jnp.linalg.solve(jax.hessian(loss)(w), jax.grad(loss)(w))
        return w - d, jnp.sum(d * d), k + 1

    return lax.while_loop(lambda c: (c[1] > 1e-12) & (c[2] < 8), step, (w, jnp.sum(w * w) + 1, 0))[0]


@smap(m1, (P(None, "x"),), P(None, "x"), normal(5, 8))
def orthogonal_update(g):
    """Newton-Schulz iterations of a matrix in columns, normed over all devices."""
    x = g / jnp.sqrt(lax.psum(jnp.sum(g * g), "x"))

    def step(x, c):
        a = lax.psum(x @ x.T, "x")
        return c[0] * x + (c[1] * a + c[2] * a @ a) @ x, None

    return lax.scan(step, x, jnp.array([[3.4445, -4.775, 2.0315], [2.0, -1.5, 0.5]]))[0]


@smap(m2, (P(("b", "a")),), (P(("b", "a")), P("a")), normal(8, 4))
def places_by_arithmetic(x):
    """Positions of rows from the numbers along two axes, sines of them, and the row that a computed device has."""
    at = (lax.axis_index("b") * 2 + lax.axis_index("a")) * 2 + jnp.arange(2)
    angle = at[:, None] / 10.0 ** jnp.arange(2)
    turned = jnp.concatenate([x[:, :2] * jnp.cos(angle) - x[:, 2:] * jnp.sin(angle), x[:, 2:] * jnp.cos(angle)], -1)
    partner = lax.dynamic_slice_in_dim(lax.all_gather(turned, ("b", "a"), tiled=True), (jnp.min(at) * 3 + 1) % 7, 1)
    weight = jnp.where(at % 3 == 0, 2.0, -1.0)[:, None]
    return turned * weight + partner, lax.psum(turned.sum(0) * weight[0], "b")[None]


@smap(m1, (P("x"), P()), P("x"), normal(8, 3), normal(3, 3))
def uniform_branch(x, w):
    """A branch that all devices take alike, with a sum in one arm and messages in the other, within a loop."""

    def step(c, _):
        n = lax.pmean(jnp.sum(c * c), "x")
        c = lax.cond(n > 6.0, lambda c: c / jnp.sqrt(lax.psum(jnp.sum(c * c), "x")), lambda c: jnp.tanh(lax.ppermute(c @ w, "x", RING)) + c, c)
        return c, n

    y, ns = lax.scan(step, x, None, length=4)
    return y * ns[-1]


@smap(m1, (P("x"),), P("x"), normal(4, 6), check_vma=False)
def groups_of_devices(x):
    """Sums and exchanges within pairs of devices, and a normalization within other pairs."""
    pairs, across = [[0, 1], [2, 3]], [[0, 3], [1, 2]]
    s = lax.psum(x, "x", axis_index_groups=pairs)
    g = lax.all_gather(jnp.sin(s), "x", axis_index_groups=across, axis=0, tiled=True)
    t = lax.all_to_all(x.reshape(2, 3) * g[:, :3], "x", 0, 0, axis_index_groups=pairs)
    return (t.reshape(1, 6) * lax.psum(x[0, 0], "x")) - s


@smap(m1, (P("x"),), (P("x"), P()), normal(12))
def nearest_of_all(x):
    """The smallest value of all devices with its place; ties are broken by the place."""
    low = lax.pmin(lax.stop_gradient(x.min()), "x")
    place = lax.axis_index("x") * 3 + jnp.arange(3)
    first = lax.pmin(jnp.where(x == low, place, 12).min(), "x")
    return (x - low) ** 2 * jnp.where(place == first, 0.0, 1.0 / (1 + jnp.abs(place - first))), low * (1 + first)
