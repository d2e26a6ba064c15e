"""The Gaussian process on a game, one for its odd part and one for its even part.

With s in {-1, 1}^p for a coalition S,

    f(s) = (v(S) - v(complement of S))/2 = sum over odd |T| of c_T prod_{j in T} s_j,
    g(s) = (v(S) + v(complement of S))/2 = sum over even |T| of c_T prod_{j in T} s_j,
    phi_i = 2 sum over odd T that contain i of c_T/|T|,
    I_ij = 4 sum over even T that contain i and j of c_T/(|T| - 1),

Pairs of complementary coalitions are samples of f and of g. Under Gaussian priors on
the c_T, Shapley values phi and interactions I are linear functionals of f and g. The
derivations are in the documentation, "The odd-part Gaussian process" and "The even-part
Gaussian process".
"""
