"""The public names, as data; `tests/test_doc.py` compares them with the package."""

from pathlib import Path

# Title, text, module, names in the order of the page
API = [
    (
        "Explaining models, games and data",
        "",
        "skshapley",
        [
            *("ShapleyExplainer", "TreeExplainer", "Explanation", "Interactions"),
            *(
                "GlobalImportance",
                "GlobalExplanation",
                "ShapleyImportance",
                "shapley_values",
            ),
            *("AmortizedExplainer", "RefitExplainer"),
            "DataShapley",
        ],
    ),
    (
        "Comparison",
        "Groups, models and periods, with errors.",
        "skshapley.comparison",
        [
            *("compare", "Comparison", "compare_refits", "RefitComparison"),
            *("find_cohorts", "drift", "Drift"),
        ],
    ),
    (
        "Trees",
        "Exact values of tree ensembles from their structure.",
        "skshapley.trees",
        ["TreeEnsemble", "read_trees"],
    ),
    (
        "Closed forms",
        "Responses with exact values.",
        "skshapley.closed_forms",
        [
            *(
                "ClosedForm",
                "Trees",
                "LinearTerms",
                "Logistic",
                "ProductKernels",
            ),
            *(
                "Exponential",
                "Curve",
                "Monomials",
                "Tables",
                "LinearLeaves",
                "Sum",
                "Part",
                "part_by",
            ),
        ],
    ),
    (
        "Readers",
        "From fitted models to closed forms; ``READERS`` is their table.",
        "skshapley.readers",
        ["read_model", "TreeReader"],
    ),
    (
        "Clusters",
        "Dask, Ray and Spark.",
        "skshapley.distributed",
        ["explain_dask", "explain_ray", "spark_udf"],
    ),
    (
        "Batches",
        "Tables of any size, to an iterator or to Parquet.",
        "skshapley.batches",
        ["explain_batches", "ExplanationDataset"],
    ),
    (
        "Pictures",
        "Displays draw an explanation, and ``frame`` returns the drawn numbers.",
        "skshapley.plots",
        [
            *("WaterfallDisplay", "BarDisplay", "BeeswarmDisplay", "DependenceDisplay"),
            *("DecisionDisplay", "MatrixDisplay"),
            *(
                "ConvergenceDisplay",
                "HeatMapDisplay",
                "SentenceDisplay",
                "MaskingCurveDisplay",
            ),
            *("ImportanceDisplay", "DumbbellDisplay", "ControlChartDisplay"),
            "RefitComparisonDisplay",
            *(
                "InteractionsDisplay",
                "OverOutputsDisplay",
                "SmallMultiples",
                "PlotAccessor",
            ),
            "Display",
        ],
    ),
    (
        "Backgrounds",
        "The choice of a few representative background rows.",
        "skshapley.background",
        ["herd"],
    ),
    (
        "Groups",
        "Nested groups of columns that carry the same information.",
        "skshapley.groups",
        ["by_correlation"],
    ),
    (
        "Samplers",
        "The choice of coalitions; ``SAMPLERS`` has the classes by name.",
        "skshapley.samplers",
        [
            *("Sampler", "SamplerTask", "BackgroundSample", "SamplerTraits"),
            *("Exact", "PermutationSampler", "MonteCarlo", "Antithetic", "Orthogonal"),
            *("Sobol", "Herding", "SequentialBayesianQuadrature", "MallowsKernel"),
            *(
                "SpearmanKernel",
                "KendallKernel",
                "draw_permutations",
                "CoalitionSampler",
            ),
            *(
                "Kernel",
                "Leverage",
                "Importance",
                "Uniform",
                "SquareRoot",
                "OuterSizes",
                "Odd",
            ),
            *(
                "OddLeverage",
                "RankedOdd",
                "Extended",
                "Classical",
                "Stratified",
                "Owen",
                "OwenHalved",
            ),
            *(
                "LocalShapley",
                "LocalPermutations",
                "ConnectedShapley",
                "ConnectedRegression",
            ),
            *("Myerson", "Ordered", "Nested", "ExactNested"),
        ],
    ),
    (
        "Solvers",
        (
            "Attributions from the values of coalitions; ``SOLVERS`` has the classes by "
            "name."
        ),
        "skshapley.solvers",
        [
            *("Solver", "SolverTask", "SolverTraits"),
            *("Estimate", "PermutationMean", "LeastSquares", "Linear", "MarginalMean"),
            *(
                "StratifiedMean",
                "SampleReuse",
                "RegressionAdjustment",
                "GaussianProcess",
            ),
            *("LeaveOneOutProcess", "ProjectedSGD", "InteractionMean"),
        ],
    ),
    (
        "Rewards",
        "The value of a coalition; ``REWARDS`` has the classes by name.",
        "skshapley.rewards",
        [
            *("Reward", "InterventionalReward", "BaselineReward", "ConditionalReward"),
            *(
                "CopulaReward",
                "EmpiricalReward",
                "SurrogateReward",
                "ForestReward",
                "RefitReward",
                "TokenReward",
                "TileReward",
            ),
            *(
                "DataGame",
                "CausalReward",
                "Game",
                "FunctionGame",
                "Players",
                "Response",
            ),
        ],
    ),
    (
        "Responses",
        "Functions for ``response_method``.",
        "skshapley.responses",
        ["SurvivalAt", "highest_probability", "mean_depth", "rank", "same_class"],
    ),
    (
        "Designs",
        "Coalitions to evaluate, as samplers pass them to solvers.",
        "skshapley.designs",
        [
            *(
                "Design",
                "StepwiseDesign",
                "PermutationDesign",
                "OrderedDesign",
                "CoalitionDesign",
            ),
            *("LinearDesign", "MarginalDesign", "PairDesign", "FullDesign"),
            "ExtendedDesign",
        ],
    ),
    (
        "Indices",
        (
            "Weights of marginal contributions; ``INDICES`` and ``PAIR_INDICES`` have them "
            "by name."
        ),
        "skshapley.indices",
        ["Index", "beta"],
    ),
    (
        "Stopping",
        "",
        "skshapley.stopping",
        ["StoppingRule", "StandardError", "RelativeError"],
    ),
    ("For shapiq", "", "skshapley.shapiq", ["ShapleyApproximator"]),
    (
        "Diagnostics",
        "",
        "skshapley.diagnostics",
        [
            *(
                "MaskingCurve",
                "masking_curve",
                "permutation_discrepancy",
            ),
            "conditional_error",
        ],
    ),
    (
        "Bounds",
        "The published bounds, as functions.",
        "skshapley.bounds",
        [
            *("hoeffding_permutations", "chebyshev_permutations", "least_evals"),
            *(
                "expected_error",
                "markov_probability",
                "deviation_probability",
                "gradient_norm",
            ),
            *(
                "strong_convexity",
                "condition_number",
                "leverage_error",
                "leverage_samples",
            ),
            *("quadrature_error", "function_variation", "dot_product_bounds"),
            *("graph_error", "graph_dependence", "absolute_information"),
        ],
    ),
    (
        "Testing",
        "Games with closed-form values, and the checks that components must pass.",
        "skshapley.testing",
        [
            *(
                "CooperativeGame",
                "AdditiveGame",
                "AirportGame",
                "DividendGame",
                "FourierGame",
            ),
            *(
                "GloveGame",
                "HybridGame",
                "RandomGame",
                "StackedGame",
            ),
            *("WeightedVotingGame", "as_instances", "explain_game"),
            *(
                "brute_force",
                "check_sampler",
                "check_solver",
                "check_pair",
                "check_consistent",
            ),
            *("check_standard_errors", "check_unbiased", "check_reward", "check_game"),
            "check_way",
            "check_display",
            "parametrize_contract",
        ],
    ),
    (
        "Constraints of parameters",
        "Valid values as data, for components of other packages.",
        "skshapley.constraints",
        ["Constraint", "OneOf", "Flag", "Count", "Number", "Maybe"],
    ),
    (
        "Errors",
        "",
        "skshapley.exceptions",
        [
            "ModelOutputError",
            "PartialExplanationError",
            "BatchError",
            "UnreadableModelError",
        ],
    ),
]


def write_api_reference(folder: Path) -> None:
    """Write the page of the API reference, if it has changed."""
    lines = ["API reference", "=============", ""]
    for title, text, module, names in API:
        lines += [title, "-" * len(title), "", f".. module:: {module}", "", text, ""]
        lines += [
            ".. autosummary::",
            "   :toctree: .",
            "",
            *(f"   {name}" for name in names),
            "",
        ]
    page, text = folder / "api.rst", "\n".join(lines)
    folder.mkdir(exist_ok=True)
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")
