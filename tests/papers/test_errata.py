"""Misprints in the papers, each shown by a computation: see the tables of doc/papers."""

from itertools import combinations, permutations
from math import comb, factorial, log

import numpy as np
import pytest

from skshapley.bounds import gradient_norm
from skshapley.samplers import SpearmanKernel
from skshapley.testing import AdditiveGame, RandomGame

D = 5
GAME = RandomGame(D, seed=2)
ALL = ((np.arange(2**D)[:, None] >> np.arange(D)) & 1).astype(bool)
SIZES = ALL.sum(axis=1)
WORTH = GAME(ALL)
PHI = GAME.shapley_values
INNER = (SIZES > 0) & (SIZES < D)
KERNEL = np.array([1 / (comb(D, s) * s * (D - s)) for s in SIZES[INNER]])


class TestGrahThouvenot:
    def gradient(self, phi):
        """Of F = sum w_S (x_S phi - y_S)^2, with their weights."""
        x, y = ALL[INNER].astype(float), WORTH[INNER] - WORTH[0]
        return 2 * x.T @ ((D - 1) * KERNEL * (x @ phi - y))

    def loss(self, phi):
        x, y = ALL[INNER].astype(float), WORTH[INNER] - WORTH[0]
        return (D - 1) * KERNEL @ (x @ phi - y) ** 2

    def test_g4_an_expectation_bounds_no_exponential_tail(self):
        """Z = 14 with probability 1/14, else 0: E Z = 1, a = 3."""
        a = 3.0
        assert 2 + 4 * a == 14
        assert 280 * 2 * np.exp(-(a**2)) < 1 / 14

    def test_g5_the_gradient_at_the_solution_is_along_the_ones(self):
        gradient = self.gradient(PHI)
        assert np.ptp(gradient) < 1e-12
        assert abs(gradient[0]) > 0.1
        # strong convexity, |y - phi|^2 <= 2/mu (F(y) - F(phi)), needs the sum to be
        # kept
        rng, mu = np.random.default_rng(0), 2 * (1 - 1 / D)
        for _ in range(20):
            step = rng.normal(size=D)
            kept = step - step.mean()
            gained = self.loss(PHI + kept) - self.loss(PHI)
            assert kept @ kept <= 2 / mu * gained * (1 + 1e-9)
        off = -1e-3 * np.sign(gradient[0]) * np.ones(D)
        assert off @ off > 2 / mu * (self.loss(PHI + off) - self.loss(PHI))

    def test_g6_a_mean_of_t_terms_over_t(self):
        """(1/T) sum from t = 0 to T has T + 1 terms, so it is no mean of equal iterates."""
        t = 4
        assert sum(1.0 for _ in range(t + 1)) / t == 1.25

    def test_g7_the_start_of_the_classification(self):
        """f(x*) - f(r) is -1 where x* is of class 0, and v(all) - v(empty) is 1."""
        x, r = np.zeros(4), np.full(4, 2.0)

        def classified(rows):
            return (np.asarray(rows) ** 2).sum(axis=-1) > 4.0

        def worth(rows):
            return (classified(rows) == classified(x)).astype(float)

        assert float(classified(x)) - float(classified(r)) == -1
        assert worth(x) - worth(r) == 1

    @pytest.mark.parametrize("d", [3, 8, 12])
    def test_g13_the_uniform_law_is_steepest_at_the_largest_size(self, d):
        size = np.arange(1, d)
        weight = np.array([(d - 1) / (comb(d, s) * s * (d - s)) for s in size])
        steepest = 2 * (2**d - 2) * weight * np.sqrt(size) * (np.sqrt(size) * 4.0 + 1.0)
        assert steepest.argmax() == d - 2
        assert gradient_norm(d, 4.0, 1.0, law="uniform") == pytest.approx(
            steepest.max()
        )

    def test_g15_all_coalitions_are_two_to_the_d(self):
        """The text counts two a coalition; the authors' exact routine 2^d - 1 + d 2^(d-1)."""
        d = 16
        assert (2**d - 1 + d * 2 ** (d - 1)) / 2**d == pytest.approx(9.0, abs=1e-4)


class TestChen:
    def test_c6_equal_contributions_are_to_sets_without_both(self):
        """Of two alike players i has v(S + i) = v(S + j) for S without both, not for all S."""
        game = AdditiveGame([1.0, 1.0, 5.0])
        i, j = np.eye(3, dtype=bool)[:2]
        without, with_i = np.array([False, False, True]), np.array([True, False, True])
        assert game((without | i)[None]) == game((without | j)[None])
        assert game((with_i | i)[None]) != game((with_i | j)[None])

    def test_c6_their_additivity_is_efficiency(self):
        assert PHI.sum() == pytest.approx(WORTH[-1] - WORTH[0])

    def test_c4_neighbourhood_sizes_of_a_grid(self):
        """|N_k(i)| = 2 k^2 + 2 k + 1, not (2 k)^2."""
        cells = [(x, y) for x in range(-9, 10) for y in range(-9, 10)]
        for k in (1, 2, 3):
            near = [c for c in cells if abs(c[0]) + abs(c[1]) <= k]
            assert len(near) == 2 * k**2 + 2 * k + 1


class TestMitchell:
    def test_m2_the_radius_of_equation_11(self):
        """Divided by |sigma^-1|, centred ranks do not lie on the unit sphere."""
        for d, radius in ((4, 0.41), (100, 0.50)):
            ranks = np.arange(1, d + 1)
            centred = ranks - ranks.mean()
            norm = np.linalg.norm(centred)
            assert norm / np.linalg.norm(ranks) == pytest.approx(radius, abs=0.005)
            assert norm == pytest.approx(np.sqrt(d * (d**2 - 1) / 12))

    def test_m3_half_of_algorithm_3_are_directions(self):
        """k = 2 (d - 1) permutations come of k/2 x (d - 1) numbers: d - 1 directions are all."""
        d = 4
        frame = np.random.default_rng(0).normal(size=(2 * (d - 1), d))
        frame -= frame.mean(axis=1, keepdims=True)
        assert np.linalg.matrix_rank(frame) == d - 1  # k orthogonal ones there are none

    def test_m4_relabelling_keeps_discordant_pairs(self):
        """Relabelling; in one line, sigma tau[i] = sigma(tau(i)) and n_dis by position."""
        rng = np.random.default_rng(1)

        def discordant(a, b):
            pairs = combinations(range(len(a)), 2)
            return sum((a[i] < a[j]) != (b[i] < b[j]) for i, j in pairs)

        right = left = inverse = spearman = 0
        kernel = SpearmanKernel()
        for _ in range(200):
            a, b, t = (rng.permutation(8) for _ in range(3))
            n = discordant(a, b)
            right += n == discordant(a[t], b[t])
            left += n == discordant(t[a], t[b])
            inverse += n == discordant(np.argsort(a), np.argsort(b))
            # fed with orders instead of ranks, Spearman's kernel changes with the
            # labels
            spearman += a @ b == np.argsort(a) @ np.argsort(b)
            assert kernel(a[None], b[None]) == kernel(t[a][None], t[b][None])
        assert right == 200
        assert left < 80
        assert inverse < 80
        assert spearman < 60

    def test_m5_and_m6_variances(self):
        """The variance of a mean of n has 1/n^2 before the sum of covariances, and sigma^2/n."""
        n, sigma = 4, 1.5
        draws = np.random.default_rng(2).normal(scale=sigma, size=(200_000, n))
        measured = draws.mean(axis=1).var()
        assert measured == pytest.approx(np.cov(draws.T).sum() / n**2, rel=1e-3)
        assert measured == pytest.approx(sigma**2 / n, rel=0.02)
        assert measured < 0.3 * np.cov(draws.T).sum() / n

    def test_m7_weights_that_do_not_add_up_shrink(self):
        """K^-1 z of the identity kernel is z, of sum n E: 1 only for n = d! permutations."""
        n, mean = 8, 1 / factorial(4)  # the kernel 1(a = b) has the mean 1/d!
        weights = np.linalg.solve(np.eye(n), np.full(n, mean))
        assert weights.sum() == pytest.approx(n / 24)

    def test_m12_pairwise_halves_are_not_the_uniform_law(self):
        """The identity and its reverse, half each."""
        orders = np.array([[0, 1, 2, 3], [3, 2, 1, 0]])
        ranks = np.argsort(orders, axis=1)
        for i, j in combinations(range(4), 2):
            assert (ranks[:, i] < ranks[:, j]).mean() == 0.5
        assert len({tuple(order) for order in orders}) < factorial(4)

    def test_m13_the_permutohedron_has_d_minus_1_dimensions(self):
        points = np.array(list(permutations(range(4))), dtype=float)
        assert np.linalg.matrix_rank(points - points.mean(axis=0)) == 3


class TestNotes:
    def share(self, player):
        """1(i in S)/(d C(d-1, s-1)) - 1(i not in S)/(d C(d-1, s)), guarded at both ends (N8)."""
        present = ALL[:, player]
        with_, without = np.zeros(2**D), np.zeros(2**D)
        with_[present] = [1 / (D * comb(D - 1, s - 1)) for s in SIZES[present]]
        without[~present] = [1 / (D * comb(D - 1, s)) for s in SIZES[~present]]
        return with_ - without

    def test_n1_sums_run_over_all_sets(self):
        off = []
        for player in range(D):
            share = self.share(player)
            assert share @ WORTH == pytest.approx(PHI[player])
            without = ~ALL[:, player]  # as printed: sets without the player
            off.append(abs(share[without] @ WORTH[without] - PHI[player]))
        assert max(off) > 0.4

    def test_n2_and_n3_each_sample_has_its_own_probability(self):
        """E Pi'Pi = I with rows 1/sqrt(m p_Sj); as printed it is m I."""
        rng, m, law = np.random.default_rng(3), 50, np.array([0.5, 0.3, 0.2])
        total, runs = np.zeros(3), 4000
        for _ in range(runs):
            drawn = rng.choice(3, size=m, p=law)
            total += np.bincount(drawn, 1 / (m * law[drawn]), minlength=3) / runs
        np.testing.assert_allclose(total, 1, atol=0.02)

    def solved(self, rows, weights):
        """Least squares on coalitions, with the sum kept."""
        x, y = ALL[INNER][rows].astype(float), WORTH[INNER][rows] - WORTH[0]
        system = np.zeros((D + 1, D + 1))
        system[:D, :D] = (x.T * weights) @ x
        system[:D, D] = system[D, :D] = 1
        gain = np.append((x.T * weights) @ y, WORTH[-1] - WORTH[0])
        return np.linalg.solve(system, gain)[:D]

    def test_n4_no_sample_is_below_the_smallest_loss(self):
        """(1 + epsilon), not (1 - epsilon)."""
        rng = np.random.default_rng(4)
        x, y = ALL[INNER].astype(float), WORTH[INNER] - WORTH[0]

        def loss(phi):
            return KERNEL @ (x @ phi - y) ** 2

        for _ in range(20):
            rows = rng.choice(INNER.sum(), size=20)
            assert loss(self.solved(rows, np.ones(20))) >= loss(PHI)

    def test_n5_a_mixed_row_keeps_the_present_values_of_the_explained_row(self):
        x, b, present = (
            np.array([1.0, 2.0]),
            np.array([5.0, 6.0]),
            np.array([True, False]),
        )
        np.testing.assert_array_equal(np.where(present, x, b), [1.0, 6.0])

    def test_n7_a_factor_of_all_weights_changes_nothing(self):
        """w_S lacks (d - 1): the solution is the same."""
        rows = np.arange(INNER.sum())
        np.testing.assert_allclose(self.solved(rows, KERNEL), PHI, rtol=1e-9)
        np.testing.assert_allclose(self.solved(rows, (D - 1) * KERNEL), PHI, rtol=1e-9)

    def test_n8_binomials_at_both_ends_are_undefined(self):
        """1(i in S)/C(d - 1, s - 1) at s = 0: the indicator is 0, the binomial undefined."""
        with pytest.raises(ValueError, match="non-negative"):
            comb(D - 1, -1)
        assert comb(D - 1, D) == 0  # and 1/0 at s = d

    def test_leverage_scores_have_a_closed_form(self):
        """1/C(d, s), of sum d - 1: the text has none."""
        x = ALL[INNER].astype(float) * np.sqrt(KERNEL)[:, None]
        x = x - x.mean(axis=1, keepdims=True)
        scores = np.einsum("ni,ij,nj->n", x, np.linalg.pinv(x.T @ x), x)
        np.testing.assert_allclose(
            scores, [1 / comb(D, s) for s in SIZES[INNER]], rtol=1e-9
        )
        assert scores.sum() == pytest.approx(D - 1)

    def test_sizes_of_least_variance(self):
        """Of sample reuse with flat |v|: sizes in proportion to 1/sqrt(s (d - s))."""
        sizes = np.arange(1, D)
        second = np.array(
            [sum(self.share(i)[s == SIZES] @ self.share(i)[s == SIZES] for i in range(D))
             for s in sizes]
        )  # fmt: skip

        def variance(law):
            return sum(second[k] * comb(D, s) / law[k] for k, s in enumerate(sizes))

        best = 1 / np.sqrt(sizes * (D - sizes))
        best /= best.sum()
        for change in np.random.default_rng(5).uniform(0.8, 1.25, size=(20, D - 1)):
            other = best * change / (best * change).sum()
            assert variance(best) <= variance(other) * (1 + 1e-12)
        assert log(variance(np.full(D - 1, 1 / (D - 1))) / variance(best)) > 0
