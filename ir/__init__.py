"""The foundations of every part of the compiler: parsing, printing, verification, passes; nothing about any op."""

from wengert.ir.generated_methods import install

install()  # before anything imports xDSL, whose classes it is about
