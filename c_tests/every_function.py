"""Fails if a function of include/caldera.h is called by no test that was written by hand."""
import pathlib
import re
import sys

here = pathlib.Path(__file__).parent
header = (here.parent / "include" / "caldera.h").read_text()
header = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
names = set(re.findall(r"^(?!typedef)[\w ]*\**\s*\**(caldera_\w+)\(", header, re.M))
tests = [p for p in here.iterdir() if p.suffix in (".c", ".cpp", ".h") and p.name != "null_arguments.c"]
text = "\n".join(p.read_text() for p in tests)
missing = sorted(name for name in names if not re.search(rf"\b{name}\b", text))
print(f"{len(names)} functions, {len(missing)} without a test: {' '.join(missing)}")
sys.exit(bool(missing) or len(names) < 150)
