"""Check the links of the built pages to each other: python doc/check_links.py doc/_build/html.

Every relative link must lead to a file, and what stands after # to a place on its page.
Links to other sites need a network: they are counted, and not followed.
"""

import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links of a page, and the places that can be linked to."""

    def __init__(self, path):
        super().__init__()
        self.links, self.places = [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.links += [attrs[name] for name in ("href", "src") if attrs.get(name)]
        self.places |= {attrs[name] for name in ("id", "name") if attrs.get(name)}


def check(folder):
    """Return the dangling links, as (page, link), and the set of links to other sites."""
    folder = folder.resolve()
    paths = [
        path for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts
    ]
    pages = {path: Page(path) for path in paths}
    dangling, external = [], set()
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                external.add(link)
                continue
            target = (
                (path.parent / unquote(parts.path)).resolve() if parts.path else path
            )
            known = pages[target].places if target in pages else None
            lost = (
                parts.fragment
                and known is not None
                and unquote(parts.fragment) not in known
            )
            if not target.exists() or lost:
                dangling.append((str(path.relative_to(folder)), link))
    return dangling, external


if __name__ == "__main__":
    dangling, external = check(Path(sys.argv[1]))
    sites = Counter(urlsplit(link).netloc for link in external)
    print(
        "Not followed:",
        ", ".join(f"{n} of {site or 'data'}" for site, n in sites.items()),
    )
    print("".join(f"{page}: {link} leads nowhere\n" for page, link in dangling), end="")
    sys.exit(f"{len(dangling)} dangling links" if dangling else 0)
