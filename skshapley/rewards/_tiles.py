"""Images: the players are tiles of one image, given by labels or as a grid."""

from numbers import Real

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from skshapley._tools import working_bytes
from skshapley.explanation import Explanation
from skshapley.rewards._game import InputReward
from skshapley.rewards._response import Response

# Standard deviation of the blur, as a share of the shorter side: it removes edges and
# texture, but not the location of colours
BLUR_SHARE = 1 / 8


class TileReward(InputReward):
    """The model's response to an image with only some tiles shown.

    Use it as the reward of `shapley_values`. The model is called with many images at
    once, as the working memory of scikit-learn allows
    (``sklearn.set_config(working_memory=)``).

    Parameters
    ----------
    estimator : fitted estimator, or callable
        A callable takes images ``(n, height, width)`` or
        ``(n, height, width, channels)``, in the image's dtype, and returns ``(n,)`` or
        ``(n, k)``. An estimator receives the same pixels as rows
        ``(n, height * width * channels)``.
    image : array of shape (height, width) or (height, width, channels)
    tiles : tuple (rows, columns), or int array of shape (height, width), default=(8, 8)
        Numbers of rows and columns of a grid of nearly equal tiles, or the label of the
        tile of each pixel, such as superpixels of `skimage.segmentation.slic`, or
        objects.
    absent : number, "mean", "blur", or array, default="mean"
        The replacement of an absent tile. A number, or a colour ``(channels,)``;
        "mean", the image's mean colour; "blur", the image without detail; an image of
        the same shape; or a background of images, ``(b, *image.shape)``: the value is
        the mean response over them.
    response_method : str or callable, default="auto"
        As in `ShapleyExplainer`.
    output : None, "predicted" or label, default=None
        As in `ShapleyExplainer`: "predicted" is the class predicted for the whole
        image.

    Attributes
    ----------
    labels : ndarray of shape (height, width), int
        The tile of each pixel, from 0, in the order of the given labels or of the grid.
    grid : tuple or None
        Rows and columns of the grid, for
        ``sampler=LocalShapley(("grid", reward.grid))`` and `plots.HeatMapDisplay`; None
        for other tiles.
    n_players : int
        The number of tiles p.

    Raises
    ------
    ValueError, TypeError
        For an image, tiles or a fill that do not match, an invalid response method or
        output.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import shapley_values
    >>> from skshapley.rewards import TileReward
    >>> image = np.array([[1.0, 1.0, 0.0, 2.0], [1.0, 1.0, 0.0, 0.0]])
    >>> brightness = lambda images: images.sum(axis=(1, 2))
    >>> reward = TileReward(brightness, image, tiles=(1, 2), absent=0.0)
    >>> result = shapley_values(reward)
    >>> result.values
    array([4., 2.])
    >>> result.values[reward.labels]  # the value of each pixel's tile
    array([[4., 4., 2., 2.],
           [4., 4., 2., 2.]])
    """

    def __init__(
        self,
        estimator,
        image,
        *,
        tiles=(8, 8),
        absent="mean",
        response_method="auto",
        output=None,
    ) -> None:
        self.image = _checked_image(image)
        self.labels, self.grid = _labels(tiles, self.image.shape[:2])
        self.absent = absent
        self._fill = _checked_fill(absent, self.image)
        self.response = Response(estimator, response_method, output, owner="TileReward")
        whole = self._given(self.image[None])
        self._winners = self.response.winners(whole, self.response.probe(whole))
        self.n_players = int(self.labels.max()) + 1

    def images(self, coalitions) -> NDArray:
        """Return the image with only the tiles of each coalition.

        Parameters
        ----------
        coalitions : array of shape (m, p), bool
            The shown tiles.

        Returns
        -------
        images : ndarray of shape (m, b, ...)
            Images like `image`, with each image of the background; b is 1 without a
            background.
        """
        visible = np.asarray(coalitions, dtype=bool)[:, self.labels]
        if self.image.ndim == 3:
            visible = visible[..., None]
        return np.where(visible[:, None], self.image, self._fill)

    def __call__(self, coalitions) -> NDArray[np.float64]:
        """Return the values of coalitions ``(m, p)``; ``(m,)``, or ``(m, k)`` for k outputs."""
        coalitions = np.asarray(coalitions, dtype=bool)
        step = max(1, int(working_bytes() // self._fill.nbytes))
        return self._without_axis(
            np.concatenate(
                [
                    self._mean_response(coalitions[start : start + step])
                    for start in range(0, len(coalitions), step)
                ]
            )
        )

    def _mean_response(self, coalitions) -> NDArray[np.float64]:
        raw = self.response(
            self._given(self.images(coalitions).reshape(-1, *self.image.shape)),
            where=" on parts of the image",
        )
        outputs = self.response.choose(raw, self._winners)
        return outputs.reshape(len(coalitions), len(self._fill), -1).mean(axis=1)

    def _given(self, images) -> NDArray:
        """Return images as inputs of the model."""
        takes_images = callable(self.response.estimator)
        return images if takes_images else images.reshape(len(images), -1)

    def explanation(self, result) -> Explanation:
        """Return a result of `shapley_values` for this reward as an `Explanation`.

        It has one row. Its data are the mean brightness of each tile.

        Parameters
        ----------
        result : ShapleyResult
        """
        tiles = [f"tile {j}" for j in range(self.n_players)]
        if self.grid is not None:
            tiles = [f"tile {i}, {j}" for i, j in np.ndindex(self.grid)]
        channels = self.image.reshape(*self.image.shape[:2], -1).mean(axis=2)
        sizes = np.bincount(self.labels.ravel())
        means = np.bincount(self.labels.ravel(), channels.ravel()) / sizes
        return self._record(
            result,
            pd.DataFrame([means], columns=tiles),
            self._settings(f"TileReward(absent={_shown(self.absent)})"),
            len(self._fill),
        )


def _checked_image(image) -> NDArray:
    image = np.array(image)
    if image.ndim not in (2, 3) or 0 in image.shape or image.dtype.kind not in "uif":
        raise ValueError(
            f"TileReward got an image of shape {image.shape} and type {image.dtype}: "
            "pass numbers of shape (height, width) or (height, width, channels); for "
            "several images, make a reward for each."
        )
    return image


def _labels(tiles, shape) -> tuple[NDArray[np.intp], tuple[int, int] | None]:
    """Return the tile of each pixel, from 0, and the grid if there is one."""
    labels = np.asarray(tiles)
    if labels.dtype.kind in "iub":
        if labels.shape == (2,) and (labels > 0).all() and (labels <= shape).all():
            (height, width), (rows, columns) = shape, tiles
            # If the grid does not divide the image, tiles differ by one pixel in height
            # and width.
            down = np.arange(height) * rows // height
            across = np.arange(width) * columns // width
            return down[:, None] * columns + across, (int(rows), int(columns))
        if labels.shape == shape:
            return np.unique(labels, return_inverse=True)[1].reshape(shape).astype(
                np.intp
            ), None
    description = f"labels of shape {labels.shape}" if labels.ndim > 1 else repr(tiles)
    raise ValueError(
        f"TileReward got tiles={description} for an image of {shape[0]} x {shape[1]} pixels: "
        "choose (rows, columns) of a grid of no more than that, or int labels of shape "
        f"{shape}."
    )


def _checked_fill(absent, image) -> NDArray:
    """Return the fill of absent tiles, ``(b, *image.shape)``."""
    whole_numbers = image.dtype.kind in "ui"
    if isinstance(absent, str):
        if absent == "mean":
            fill = np.broadcast_to(image.mean(axis=(0, 1)), image.shape)
        elif absent == "blur":
            fill = gaussian_filter(
                image.astype(np.float64),
                BLUR_SHARE * min(image.shape[:2]),
                axes=(0, 1),
            )
        else:
            raise ValueError(
                "TileReward takes absent as a number, a colour, an array of images, "
                f'"mean" or "blur"; got {absent!r}.'
            )
        return (np.rint(fill) if whole_numbers else fill).astype(image.dtype)[None]
    values = np.asarray(absent)
    background = values.shape[1:] == image.shape and len(values) > 0
    if not background and values.shape not in ((), image.shape[2:], image.shape):
        raise ValueError(
            f"TileReward got absent of shape {values.shape} for an image of shape "
            f"{image.shape}: pass a number, a colour, an image of that shape, or a "
            f"background of shape (b, {', '.join(map(str, image.shape))})."
        )
    fill = values.astype(image.dtype)
    if whole_numbers and not np.array_equal(fill, absent):
        raise ValueError(
            f"TileReward got absent={_shown(absent)} for an image of {image.dtype}, "
            "which cannot hold it: pass values of that type, or an image of floats."
        )
    return fill if background else np.broadcast_to(fill, image.shape)[None]


def _shown(absent) -> str:
    """Return the name of the fill."""
    return (
        repr(absent)
        if isinstance(absent, str | Real)
        else f"array of shape {np.shape(absent)}"
    )
