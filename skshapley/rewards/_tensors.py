"""Models and outputs of other array libraries, without importing any of them.

A torch module is called with a tensor of its own device and number type, in evaluation
mode and without gradients. All outputs become NumPy arrays.
"""

from typing import Any

import numpy as np
from scipy import sparse

from skshapley._tables._inputs import as_array, is_frame


def is_torch_module(model: Any) -> bool:
    """Return True if a model is a `torch.nn.Module`."""
    return any(
        (kind.__module__, kind.__name__) == ("torch.nn.modules.module", "Module")
        for kind in type(model).__mro__
    )


def asked_module(module: Any, X: Any) -> Any:
    """Return a torch module's output for a table; a single column loses its axis.

    Parameters
    ----------
    module : torch.nn.Module
    X : array, sparse matrix or frame of shape (n, d)

    Returns
    -------
    values : ndarray of shape (n,) or (n, k)

    Raises
    ------
    TypeError
        For a table with other columns than numbers.
    RuntimeError
        If the module fails.
    """
    import torch

    table: Any = as_array(X) if is_frame(X) else X
    table = np.ascontiguousarray(table.toarray() if sparse.issparse(table) else table)
    if table.dtype.kind not in "biuf":
        raise TypeError(
            f"A torch module takes numbers, and got a table of dtype {table.dtype}: "
            "encode its columns, or pass a function that encodes the table."
        )
    parameter = next((p for p in module.parameters() if p.is_floating_point()), None)
    kind = torch.float32 if parameter is None else parameter.dtype
    device = None if parameter is None else parameter.device
    training = [part for part in module.modules() if part.training]
    module.eval()  # switches dropout off
    try:
        with torch.no_grad():
            values = as_numpy(
                module(torch.as_tensor(table).to(device=device, dtype=kind))
            )
    except Exception as error:
        raise RuntimeError(
            f"The torch module {type(module).__name__} failed on {len(table)} rows of "
            f"{table.shape[1]} columns, {kind} on {device}, with "
            f"{type(error).__name__}: {error}. Pass the columns that it was trained "
            "on, or a function of the table."
        ) from error
    finally:
        for part in training:
            part.training = True
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def as_numpy(raw: Any) -> Any:
    """Return the array of another library as a NumPy array; other objects are unchanged.

    Tensors are detached and moved to the CPU. Others come through ``__array__`` or
    DLPack.
    """
    if hasattr(raw, "detach") and hasattr(raw, "cpu"):
        raw = raw.detach().cpu()
        return (
            raw.double() if raw.is_floating_point() else raw
        ).numpy()  # numpy has no bfloat16
    if hasattr(raw, "__dlpack__") and not hasattr(raw, "__array__"):
        return np.from_dlpack(raw)
    return raw
