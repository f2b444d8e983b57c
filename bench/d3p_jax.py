"""The update of d3p (Prediger et al., 2022: dp-svi by clipped gradients of every record) in
JAX, beside this program on the same machine: logistic regression and the autoencoder of
MNIST, with gradients of all records formed (vmap, as d3p has it) and by ghost norms (Bu et
al., 2022, book-keeping). Records are made up; batches are of a fixed size and drawn with
replacement, which costs JAX least; noise is JAX's, in floating point, by a generator that
is no cipher.

    python3 bench/d3p_jax.py bin/sim          one table, in Markdown
    JAX_PLATFORMS=cpu python3 bench/d3p_jax.py bin/sim
"""

import json
import subprocess
import sys
import time

import jax
import jax.numpy as jnp

CLIP, MULTIPLIER, B1, B2 = 0.5, 2.0, 0.9, 0.999
normal, split = jax.random.normal, jax.random.split


def seconds(run, *args):
    """Best time of a call, compiled before, over some three seconds and at least three calls."""
    jax.block_until_ready(run(*args))
    best, began, calls = float("inf"), time.perf_counter(), 0
    while calls < 3 or time.perf_counter() - began < 3:
        start = time.perf_counter()
        jax.block_until_ready(run(*args))
        best, calls = min(best, time.perf_counter() - start), calls + 1
    return best


def many(step, state, steps):
    """A compiled loop of steps of (state, key)."""
    return jax.jit(lambda key: jax.lax.fori_loop(0, steps, lambda t, s: step(t, s, jax.random.fold_in(key, t)), state))


def adam(p, m, v, g, t, rate):
    m = jax.tree.map(lambda a, b: B1 * a + (1 - B1) * b, m, g)
    v = jax.tree.map(lambda a, b: B2 * a + (1 - B2) * b * b, v, g)
    c1, c2 = 1 - B1 ** (t + 1.0), 1 - B2 ** (t + 1.0)
    return jax.tree.map(lambda a, b, c: a - rate * b / c1 / (jnp.sqrt(c / c2) + 1e-8), p, m, v), m, v


def hidden(sums, key, clip, multiplier):
    keys = split(key, len(jax.tree.leaves(sums)))
    leaves, form = jax.tree.flatten(sums)
    return jax.tree.unflatten(form, [s + clip * multiplier * normal(k, s.shape) for s, k in zip(leaves, keys)])


def logistic(n=10_000, d=14, batch=200, ghost=False):
    """A step of mean-field variational inference; with one draw of θ for all records."""
    key = jax.random.PRNGKey(1)
    x = jax.random.uniform(key, (n, d), minval=-1, maxval=1) / jnp.sqrt(d)
    y = (jax.random.uniform(split(key)[0], (n,)) < 0.5).astype(jnp.float32)

    def step(t, state, key):
        p, m, v = state
        k = split(key, 3)
        rows = jax.random.randint(k[0], (batch,), 0, n)
        xb, yb, eps = x[rows], y[rows], normal(k[1], (d,))

        def loss(p, xi, yi):  # of a record, with its share of the divergence, as d3p has it
            theta = p[0] + jnp.exp(p[1]) * eps
            eta = xi @ theta
            kl = 0.5 * jnp.sum(jnp.exp(2 * p[1]) + p[0] ** 2 - 1 - 2 * p[1])
            return jax.nn.softplus(eta) - yi * eta + kl / n

        if ghost:  # a multiple of the row, and that times s∘ε: norms in closed form
            scale, share = jnp.exp(p[1]) * eps, (p[0] / n, (jnp.exp(2 * p[1]) - 1) / n)
            r = jax.nn.sigmoid(xb @ (p[0] + scale)) - yb
            norm = r**2 * ((xb * xb) @ (1 + scale**2)) + 2 * r * (xb @ (share[0] + scale * share[1])) + sum(jnp.sum(s * s) for s in share)
            c = jnp.minimum(1, CLIP / jnp.sqrt(norm))
            g = (c * r) @ xb
            sums = (g + c.sum() * share[0], scale * g + c.sum() * share[1])
        else:
            g = jax.vmap(jax.grad(loss), (None, 0, 0))(p, xb, yb)
            norm = sum(jnp.sum(a * a, axis=1) for a in g)
            c = jnp.minimum(1, CLIP / jnp.sqrt(norm))
            sums = tuple(c @ a for a in g)
        g = jax.tree.map(lambda a: a * (n / batch), hidden(sums, k[2], CLIP, MULTIPLIER))
        return adam(p, m, v, g, t, 0.01)

    zero = (jnp.zeros(d), jnp.zeros(d))
    return step, ((jnp.zeros(d), jnp.full(d, -2.3)), zero, zero)


def autoencoder(n=6_000, pixels=784, width=400, latent=50, batch=128, ghost=False, private=True):
    key = jax.random.PRNGKey(1)
    grey = jnp.where(jax.random.uniform(key, (n, pixels)) < 0.2, 0.5, 0.0)
    shapes = [(pixels, width), (width, 2 * latent), (latent, width), (width, pixels)]
    p = [(normal(k, s) * s[0] ** -0.5, jnp.zeros(s[1])) for k, s in zip(split(key, 4), shapes)]

    def forward(p, x, eps, taps):  # taps are zeros, at which derivatives of outputs are read
        a1 = jax.nn.softplus(x @ p[0][0] + p[0][1] + taps[0])
        o2 = a1 @ p[1][0] + p[1][1] + taps[1]
        mean, log = o2[..., :latent], o2[..., latent:]
        z = mean + jnp.exp(log) * eps
        a3 = jax.nn.softplus(z @ p[2][0] + p[2][1] + taps[2])
        o4 = a3 @ p[3][0] + p[3][1] + taps[3]
        loss = jnp.sum(jax.nn.softplus(o4) - x * o4, -1) + 0.5 * jnp.sum(jnp.exp(2 * log) + mean**2 - 1 - 2 * log, -1)
        return loss, (x, a1, z, a3)

    def step(t, state, key):
        p, m, v = state
        k = split(key, 4)
        rows = jax.random.randint(k[0], (batch,), 0, n)
        x = (jax.random.uniform(k[1], (batch, pixels)) < grey[rows]).astype(jnp.float32)
        eps = normal(k[2], (batch, latent))
        none = [jnp.zeros((batch, s[1])) for s in shapes]
        if not private:
            g = jax.grad(lambda p: forward(p, x, eps, none)[0].sum())(p)
        elif ghost:
            deltas, inputs = jax.grad(lambda taps: (lambda l, a: (l.sum(), a))(*forward(p, x, eps, taps)), has_aux=True)(none)
            norm = sum((jnp.sum(a * a, 1) + 1) * jnp.sum(d * d, 1) for a, d in zip(inputs, deltas))
            c = jnp.minimum(1, 10 / jnp.sqrt(norm))[:, None]
            g = [(a.T @ (c * d), jnp.sum(c * d, 0)) for a, d in zip(inputs, deltas)]
        else:
            each = jax.vmap(jax.grad(lambda p, x, e: forward(p, x, e, [0.0] * 4)[0]), (None, 0, 0))(p, x, eps)
            norm = sum(jnp.sum(a * a, axis=tuple(range(1, a.ndim))) for a in jax.tree.leaves(each))
            c = jnp.minimum(1, 10 / jnp.sqrt(norm))
            g = jax.tree.map(lambda a: jnp.tensordot(c, a, 1), each)
        if private:
            g = hidden(g, k[3], 10, 1.5)
        return adam(p, m, v, jax.tree.map(lambda a: a / batch, g), t, 1e-3)

    zero = jax.tree.map(jnp.zeros_like, p)
    return step, (p, zero, zero)


def machine():
    """Bytes a second that a copy reads and writes, operations a second of a product."""
    copied = jnp.ones(1 << 24 if jax.default_backend() == "cpu" else 1 << 28, jnp.float32)
    size = 1024 if jax.default_backend() == "cpu" else 8192
    a = jnp.ones((size, size), jnp.float32)
    return 8 * copied.size / seconds(jax.jit(lambda c: c + 1), copied), 2 * size**3 / seconds(jax.jit(lambda a: a @ a), a)


if __name__ == "__main__":
    ours = json.loads(subprocess.run([sys.argv[1], "doctor", "--json"], check=True, capture_output=True).stdout)
    key, gpu = jax.random.PRNGKey(7), next((g for g in ours.get("gpus", []) if not g.get("failed")), None)
    copy, product = machine()
    if not gpu:
        copy = max(copy, ours["processor"]["copy_bytes_per_second"])
    print(f"JAX {jax.__version__} on {jax.devices()[0].device_kind}: copies {copy / 1e9:.1f} GB/s (read and written), products {product / 1e9:.0f} GF/s (float32).\n")
    table = []
    steps = 200 if jax.default_backend() == "cpu" else 2000
    for name, ghost in ("vmap", False), ("ghost norms", True):
        step, state = logistic(ghost=ghost)
        table.append(("logistic regression", "JAX, " + name, seconds(many(step, state, steps), key) / steps, 9 * 200 * 14, 200 * 15 * 4))
    table.append(("logistic regression", "this program, one thread", 1 / ours["processor"]["steps_per_second"], 9 * 200 * 14, 200 * 15 * 8))
    if gpu:
        table.append(("logistic regression", "this program, GPU", 1 / gpu["steps_per_second"], 9 * 200 * 14, 200 * 15 * 8))
        table.append(("logistic regression", "this program, GPU, 256 at once", 1 / gpu["steps_per_second_many"], 9 * 200 * 14, 200 * 15 * 8))
    weights = 688_884
    for name, options, formed in ("vmap", {}, 2 * 128), ("ghost norms", {"ghost": True}, 0), ("no privacy", {"private": False}, 0):
        step, state = autoencoder(**options)
        count = 1 if jax.default_backend() == "cpu" else 200
        table.append(("autoencoder", "JAX, " + name, seconds(many(step, state, count), key) / count, 447.5e6, (28 + 4 * formed) * weights))
    table.append(("autoencoder", f"this program, {ours['processor']['cores']} cores", 1 / ours["processor"]["network_steps_per_second"], 447.5e6, 28 * weights))
    if gpu:
        table.append(("autoencoder", "this program, GPU", 1 / gpu["network_steps_per_second"], 447.5e6, 28 * weights))
        table.append(("autoencoder", "this program, GPU, no privacy", 1 / gpu["network_steps_per_second_plain"], 447.5e6, 28 * weights))
    best = {m: min(t for n, who, t, *_ in table if n == m and who.startswith("JAX") and "no privacy" not in who) for m in ("logistic regression", "autoencoder")}
    print("| model | by | a step | of the product's rate | of the copy's rate | best private JAX over it |\n|---|---|---|---|---|---|")
    for model, by, t, work, traffic in table:
        print(f"| {model} | {by} | {t * 1e6:,.1f} µs | {work / t / product:.1%} | {traffic / t / copy:.1%} | {best[model] / t:.2f} |")
    if gpu:
        private, plain = 1 / gpu["network_steps_per_second"], 1 / gpu["network_steps_per_second_plain"]
        print(f"\nAn epoch of the autoencoder, 468 steps: {468e3 * private:.1f} ms with privacy, {468e3 * plain:.1f} ms without, {private / plain:.2f} times as long; JAX at best {468e3 * best['autoencoder']:.1f} ms with privacy.")
