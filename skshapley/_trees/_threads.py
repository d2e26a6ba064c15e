"""Threads over the parts of a computation."""

from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed


def each(function, arguments, n_jobs) -> list:
    """Return ``function(*a)`` for each of the arguments, by `n_jobs` threads.

    One thread does without joblib, whose objects live on in cycles until the collector comes. So
    does one task, which joblib would take longer to start than a row takes to explain.
    """
    arguments = list(arguments)
    if len(arguments) < 2 or effective_n_jobs(n_jobs) == 1:
        return [function(*a) for a in arguments]
    run = Parallel(n_jobs=n_jobs, require="sharedmem")
    return run(delayed(function)(*a) for a in arguments)
