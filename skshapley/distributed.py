"""Explanations on clusters: dask, Spark and Ray.

A fitted explainer is sent to the parts of a large table and returns attributions. For
one table with few rows, use ``joblib.parallel_config("dask")`` instead; for polars or
DuckDB, `skshapley.batches.explain_batches`.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from skshapley._estimators._attributor import Attributor
from skshapley._tables import is_frame

__all__ = ["explain_dask", "explain_ray", "spark_udf"]


def explain_dask(explainer, frame) -> Any:
    """Explain the rows of a dask DataFrame, lazily.

    Parameters
    ----------
    explainer : fitted ShapleyExplainer, TreeExplainer or AmortizedExplainer
        Fitted on a pandas DataFrame or an array.
    frame : dask.dataframe.DataFrame
        Columns that the explainer does not know, such as keys, are kept.

    Returns
    -------
    attributions : dask.dataframe.DataFrame
        The other columns of `frame`, and a column for each attribution.

    Examples
    --------
    >>> import dask.dataframe as dd  # doctest: +SKIP
    >>> from skshapley.distributed import explain_dask
    >>> table = dd.read_parquet("rows/")  # doctest: +SKIP
    >>> explain_dask(explainer, table).to_parquet("phi/")  # doctest: +SKIP
    """
    part = _Part(explainer, "explain_dask")
    return frame.map_partitions(part, meta=part(frame._meta))


def explain_ray(explainer, dataset, **options) -> Any:
    """Explain the rows of a Ray dataset, lazily.

    Parameters
    ----------
    explainer : fitted ShapleyExplainer, TreeExplainer or AmortizedExplainer
        Fitted on a pandas DataFrame or an array.
    dataset : ray.data.Dataset
        Columns that the explainer does not know, such as keys, are kept.
    **options
        Options of `ray.data.Dataset.map_batches`, such as ``batch_size=4096``.

    Returns
    -------
    attributions : ray.data.Dataset
        The other columns of `dataset`, and a column for each attribution.

    Examples
    --------
    >>> import ray  # doctest: +SKIP
    >>> from skshapley.distributed import explain_ray
    >>> table = ray.data.read_parquet("rows/")  # doctest: +SKIP
    >>> explain_ray(explainer, table).write_parquet("phi/")  # doctest: +SKIP
    """
    part = _Part(explainer, "explain_ray")
    return dataset.map_batches(part, batch_format="pandas", **options)


def spark_udf(explainer) -> Any:
    """Return a function of Spark columns that returns attributions.

    Parameters
    ----------
    explainer : fitted ShapleyExplainer, TreeExplainer or AmortizedExplainer
        Fitted on a pandas DataFrame or an array.

    Returns
    -------
    udf : function of a struct column
        Its result is a struct with a field for each attribution. Fields of the argument
        that the explainer does not know are ignored.

    Examples
    --------
    >>> from pyspark.sql.functions import struct  # doctest: +SKIP
    >>> from skshapley.distributed import spark_udf
    >>> table = spark.read.parquet("rows/")  # doctest: +SKIP
    >>> udf = spark_udf(explainer)  # doctest: +SKIP
    >>> table.withColumn("phi", udf(struct("*"))).write.parquet(
    ...     "phi/"
    ... )  # doctest: +SKIP
    """
    from pyspark.sql.functions import pandas_udf
    from pyspark.sql.types import DoubleType, StructField, StructType

    part = _Part(explainer, "spark_udf")

    def attributions(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            yield part(frame)[part.names]

    return pandas_udf(
        attributions,
        StructType([StructField(n, DoubleType()) for n in part.names]),
    )


class _Part:
    """Attributions of a part of a table, with the same columns for all parts.

    Parameters
    ----------
    explainer : fitted estimator
    owner : str
        Name of the function that was called, for errors.
    """

    def __init__(self, explainer: Any, owner: str) -> None:
        if not isinstance(explainer, Attributor):
            raise TypeError(
                f"{owner} takes a fitted explainer of tables; got {explainer!r}: pass"
                f" ShapleyExplainer(model).fit(background)."
            )
        check_is_fitted(explainer, "players_")
        if not explainer.players_.n_players:
            raise TypeError(
                f"{owner} takes explainers of tables, and this one was fitted on "
                "documents: use skshapley.batches.explain_batches."
            )
        self._explainer = explainer
        self._columns = list(getattr(explainer, "feature_names_in_", [])) or None
        self.names = [str(name) for name in explainer.get_feature_names_out()]

    def __call__(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the columns without features, and the attributions."""
        X = frame if self._columns is None else frame[self._columns]
        other_columns = frame.drop(columns=X.columns)
        values = np.empty(0)
        # Dask calls the function with an empty frame to find the columns, and
        # explainers refuse empty tables.
        if len(frame):
            has_names = self._columns or is_frame(self._explainer.background_)
            values = self._explainer.values(X if has_names else X.to_numpy())
        flat = pd.DataFrame(
            values.reshape(len(frame), len(self.names)),
            index=frame.index,
            columns=self.names,
        )
        return pd.concat([other_columns, flat], axis=1)
