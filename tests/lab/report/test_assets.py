"""What is bundled for the page: made of the sources that are there, with the licences of all that is in it, of a size that a file can have."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

from wengert.lab.report.page import ASSETS, asset, packed, page

WEB = Path(__file__).resolve().parents[3] / "web"


def test_the_bundle_is_that_of_the_sources():
    digest = hashlib.sha256()
    for path in [*sorted((WEB / "src").iterdir()), WEB / "build.mjs", WEB / "package-lock.json"]:
        digest.update(path.read_bytes())
    assert digest.hexdigest() == asset("sources.sha256").strip(), "npm run build in web/"


def test_every_library_has_its_licence():
    notices = asset("LICENSES.txt")
    for name, version in json.loads((WEB / "package.json").read_text())["dependencies"].items():
        assert f"{name} {version} (" in notices
    assert "Eclipse Public License" in notices
    assert "has no file with the text of its licence" not in notices


def test_versions_are_locked():
    package, lock = (json.loads((WEB / name).read_text()) for name in ("package.json", "package-lock.json"))
    for name, version in {**package["dependencies"], **package["devDependencies"]}.items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version)
        assert lock["packages"][f"node_modules/{name}"]["version"] == version


def test_the_bundles_are_small_enough():
    assert sum(path.stat().st_size for path in ASSETS.iterdir()) < 3_000_000


def test_scripts_hold_nothing_that_ends_them():
    for name in ("report.js", "editor.js"):
        assert "</script" not in asset(name).lower()
        assert "<!--" not in asset(name)


def test_a_page_names_no_other_address():
    text = page("a title", packed({}))
    markup = re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.DOTALL)
    assert not re.search(r"(src|href)=[\"'](?!data:)", markup)
    assert "default-src 'none'" in text
    assert "connect-src 'none'" in text.replace("&#39;", "'")


def test_titles_are_escaped():
    assert "<title>&lt;script&gt;" in page("<script>", packed({}))
