"""Sentence: a text with each token on the colour of its attribution."""

from html import escape
from textwrap import fill
from typing import Any, Self
from unicodedata import east_asian_width

import numpy as np
import pandas as pd

from skshapley._tables import number
from skshapley.plots import _style as style
from skshapley.plots._common import response_name, row_table
from skshapley.plots._display import Display, SmallMultiples

LETTER = 0.602  # width of a monospaced letter, relative to the font size
MARGIN = 0.1  # inches beside the text
LINE = 1.7  # height of a line, relative to the font size
FONT_SIZE = 11.0
FONT: dict = {"family": "monospace", "fontsize": FONT_SIZE, "color": "black", "va": "center",
              "parse_math": False}  # fmt: skip
# Number of the token, text, line and column
Piece = tuple[int, str, int, int]
# The part of the colour map with legible black letters
LOWEST, HIGHEST = 0.2, 0.8


class SentenceDisplay(Display):
    """A text with words coloured by their attributions, in matplotlib or HTML.

    White means no attribution. The largest attribution, of either sign, has the full
    colour.

    Use `from_explanation` or `from_estimator` to make one. A notebook shows the display
    as HTML.

    Parameters
    ----------
    table : DataFrame
        Columns ``token`` (with the space and punctuation after it), ``value``,
        ``standard_error``; in the order of the text.
    response : str, default="response"
        Name of the explained response, for the title.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from skshapley import shapley_values
    >>> from skshapley.plots import SentenceDisplay
    >>> from skshapley.rewards import TokenReward
    >>> reward = TokenReward(
    ...     lambda texts: [text.count("o") for text in texts], "No good."
    ... )
    >>> display = SentenceDisplay.from_explanation(
    ...     reward.explanation(shapley_values(reward))
    ... )
    >>> display.frame()[["token", "value"]]
       token  value
    0    No     1.0
    1  good.    2.0
    """

    @classmethod
    def from_explanation(
        cls,
        explanation,
        row=None,
        *,
        output=None,
        ax=None,
    ) -> Self | SmallMultiples:
        """Draw the tokens of one row.

        Parameters
        ----------
        explanation : Explanation
            Its data are the pieces of the text, as in `TokenReward.explanation`.
        row : int, default=None
            Position of the row. May be left out if there is only one.
        output : label, default=None
            One of `explanation.output_names`. None: all, below each other, or the strongest
            of many.
        ax : matplotlib Axes, or one for each output, default=None
            The axes to draw on; a new figure by default.

        Returns
        -------
        display : SentenceDisplay, or SmallMultiples of them for several outputs

        Raises
        ------
        ValueError, TypeError, IndexError
            For an invalid row, output or ax.
        """

        def make(shown, _) -> Any:
            table = (
                row_table(shown)
                .drop(columns="feature")
                .rename(columns={"data": "token"})
            )
            table = table.iloc[_in_order(table["token"].tolist())]
            table = table.assign(token=table["token"].map(str)).reset_index(drop=True)
            return cls(table, response_name(shown))

        return cls._of_outputs(
            explanation,
            make,
            output=output,
            ax=ax,
            row=row,
            needs_row=True,
        )

    def html(self) -> str:
        """Return the text as HTML, with a span for each token and its attribution as a tooltip."""
        spans = []
        for token, value, colour in zip(
            self.table["token"],
            self.table["value"],
            self._colours(),
            strict=True,
        ):
            word, gap = _parted(token)
            spans.append(
                f'<span title="{escape(number(value, signed=True))}" '
                f'style="background:{colour};'
                f'color:black;border-radius:2px">{escape(word)}</span>{escape(gap)}'
            )
        return (
            f'<p style="white-space:pre-wrap;line-height:{LINE}">{"".join(spans)}</p>'
        )

    _repr_html_ = html

    def _colours(self) -> list[str]:
        """Return the colour of each token, as "#rrggbb"."""
        from matplotlib.colors import to_hex

        value = self.table["value"].to_numpy()
        # The smallest float avoids a division by 0 if no token has an effect.
        share = value / max(np.abs(value).max(), np.finfo(float).tiny)
        return [
            to_hex(colour)
            for colour in style.signed_colours()(0.5 + share * (HIGHEST - LOWEST) / 2)
        ]

    def _lines(self, points) -> tuple[list[Piece], int, int]:
        """Return the pieces, the number of lines, and the letters per line."""
        width = max(10, int(points / (LETTER * FONT_SIZE)))
        return *_flowed(self.table["token"], width), width

    def _size(self, alone) -> tuple[float, float]:
        n_lines = self._lines(72 * (style.WIDTH - MARGIN))[1]
        # Two more lines for the title.
        return style.WIDTH, (n_lines + 2) * LINE * FONT_SIZE / 72

    def _draw(self, ax) -> None:
        low, high = self.table["value"].agg(["min", "max"])
        ends = f"{number(low, signed=True)} to {number(high, signed=True)}"
        ax.set_title(
            fill(
                f"attribution ({self.response}): {ends}",
                2 * style.letters_within(ax),
            ),
            loc="left",
            color=style.ink(ax),
            parse_math=False,
        )
        ax.axis("off")
        style.settle(ax)
        pieces, n_lines, width = self._lines(style.width_in_points(ax))
        colours = self._colours()
        for token, word, line, column in pieces:
            box = {"facecolor": colours[token], "edgecolor": "none", "pad": 1.0}
            ax.text(column, line, word, bbox=box, **FONT)
        ax.set_xlim(0, width)
        ax.set_ylim(n_lines - 0.4, -0.6)


def _in_order(pieces) -> list[int]:
    """Return the positions of a document's own tokens among all tokens, in order."""
    placed = [place for place, piece in enumerate(pieces) if not pd.isna(piece)]
    if len(placed) == len(pieces) or not all(
        isinstance(pieces[place], str) for place in placed
    ):
        return list(range(len(pieces)))
    if not all(hasattr(pieces[place], "place") for place in placed):
        raise ValueError(
            "SentenceDisplay got a document without the order of its tokens, which "
            "explanations of several documents do not keep: explain the document alone."
        )
    return sorted(placed, key=lambda place: pieces[place].place)


def _parted(token) -> tuple[str, str]:
    """Return a piece of text and the white space after it."""
    word = token.rstrip()
    return word, token[len(word) :]


def _flowed(tokens, width) -> tuple[list[Piece], int]:
    """Return tokens in lines of `width` letters, and the number of lines."""
    pieces: list[Piece] = []
    line, column = 0, 0
    for place, token in enumerate(tokens):
        word, gap = _parted(token)
        letters = max(_letters(word), 1)
        # Wide letters need fewer of them per line.
        step = width if letters <= width else width * len(word) // letters
        # Each part of a word that is longer than a line has a line of its own.
        for start in range(0, len(word), step):
            part = word[start : start + step]
            if column and column + _letters(part) > width:
                line = line + 1
                column = 0
            pieces.append((place, part, line, column))
            column += _letters(part)
        column += len(gap)
        if "\n" in gap:
            line = line + 1
            column = 0
    return pieces, max((piece[2] for piece in pieces), default=0) + 1


def _letters(word) -> int:
    """Return the width of a word in Latin letters; wide letters such as Chinese count as two."""
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in word)
