"""Builds the programs with Go and puts them into the wheel."""

import pathlib
import subprocess

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

ROOT = pathlib.Path(__file__).resolve().parent.parent


class BuildPrograms(build_py):
    def run(self):
        super().run()
        into = pathlib.Path(self.build_lib).resolve() / "fedpvi" / "bin"
        if self.editable_mode:
            into = ROOT / "python" / "src" / "fedpvi" / "bin"
        into.mkdir(parents=True, exist_ok=True)
        subprocess.run(["go", "build", "-trimpath", "-o", f"{into}/", "./cmd/..."], cwd=ROOT, check=True)


class PlatformWheel(bdist_wheel):
    """A wheel for this platform and every Python 3: it has programs, and no extension module."""

    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setup(cmdclass={"build_py": BuildPrograms, "bdist_wheel": PlatformWheel})
