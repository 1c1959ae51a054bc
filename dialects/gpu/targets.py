"""Targets that a gpu.module is compiled for: ``#nvvm.target``, ``#rocdl.target`` and ``#spirv.target_env``, with upstream's keys.

Of the dialects that they belong to nothing else is there: below the gpu level is LLVM text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntAttr, StringAttr
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from wengert.ir.diagnostics import did_you_mean

Default = int | str | None


class LLVMTarget(ParametrizedAttribute):
    """A target that LLVM has a back end for. Keys that are not written have their defaults.

    Attributes:
        level: LLVM's optimisation level, 0 to 3.
        triple, chip, features: LLVM's words for the target.
        flags: floating-point modes and options of the tools, by name.
        link: files of bitcode to link.
    """

    KEYS: ClassVar[Mapping[str, Default]]
    """Every key in the order in which it is written, with its default."""
    settings: DictionaryAttr

    @classmethod
    def of(cls, **settings: Attribute | str | int) -> LLVMTarget:
        """The target of these settings; those that are defaults are left out, but for the chip."""
        made: dict[str, Attribute] = {}
        for key, default in cls.KEYS.items():
            value = settings.pop(key, default)
            if value is not None and (value != default or key == "chip"):
                made[key] = value if isinstance(value, Attribute) else StringAttr(value) if isinstance(value, str) else IntAttr(value)
        if settings:
            raise ValueError(f"#{cls.name} has no key '{next(iter(settings))}'")
        return cls(DictionaryAttr(made))

    def _word(self, key: str) -> str:
        value = self.settings.data.get(key)
        return value.data if isinstance(value, StringAttr) else cast(str, self.KEYS[key])

    @property
    def level(self) -> int:
        """LLVM's optimisation level."""
        return cast("IntAttr[int]", self.settings.data["O"]).data if "O" in self.settings.data else cast(int, self.KEYS["O"])

    @property
    def triple(self) -> str:
        """The target triple."""
        return self._word("triple")

    @property
    def chip(self) -> str:
        """The processor, as LLVM names it."""
        return self._word("chip")

    @property
    def features(self) -> str:
        """LLVM's feature string."""
        return self._word("features")

    @property
    def flags(self) -> Mapping[str, Attribute]:
        """Modes and options by name."""
        flags = self.settings.data.get("flags")
        return flags.data if isinstance(flags, DictionaryAttr) else {}

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        made: dict[str, Attribute] = {}

        def entry() -> None:
            position = parser.pos
            key = parser.parse_identifier()
            if key not in cls.KEYS or key in made:
                hint = did_you_mean(key, cls.KEYS) or f"known are {', '.join(cls.KEYS)}"
                parser.raise_error(f"#{cls.name} has no key '{key}'; {hint}" if key not in cls.KEYS else f"'{key}' is given twice", position)
            parser.parse_punctuation("=")
            position = parser.pos
            made[key] = IntAttr(parser.parse_integer()) if key == "O" else parser.parse_attribute()
            if not isinstance(made[key], _TYPES[key]):
                parser.raise_error(f"'{key}' of #{cls.name} is {_WORDS[_TYPES[key]]}", position)

        parser.parse_optional_comma_separated_list(parser.Delimiter.ANGLE, entry)
        return [DictionaryAttr(made)]

    def print_parameters(self, printer: Printer) -> None:
        settings = self.settings.data
        if not settings:
            return
        before = "<"
        for key in self.KEYS:
            if (value := settings.get(key)) is not None:
                printer.print_string(f"{before}{key} = ")
                before = ", "
                if isinstance(value, IntAttr):
                    printer.print_string(str(self.level))
                else:
                    printer.print_attribute(value)
        printer.print_string(">")


_TYPES: Mapping[str, type[Attribute]] = {
    "O": IntAttr,
    "triple": StringAttr,
    "chip": StringAttr,
    "features": StringAttr,
    "abi": StringAttr,
    "flags": DictionaryAttr,
    "link": ArrayAttr,
}
_WORDS: Mapping[type[Attribute], str] = {IntAttr: "a number", StringAttr: "a string", DictionaryAttr: "a dictionary", ArrayAttr: "a list of files"}


@irdl_attr_definition
class NVVMTargetAttr(LLVMTarget):
    """``#nvvm.target<chip = "sm_90", features = "+ptx80">``."""

    name = "nvvm.target"
    settings: DictionaryAttr = param_def()
    KEYS: ClassVar[Mapping[str, Default]] = {"O": 2, "triple": "nvptx64-nvidia-cuda", "chip": "sm_75", "features": "", "flags": None, "link": None}


@irdl_attr_definition
class ROCDLTargetAttr(LLVMTarget):
    """``#rocdl.target<chip = "gfx942">``."""

    name = "rocdl.target"
    settings: DictionaryAttr = param_def()
    KEYS: ClassVar[Mapping[str, Default]] = {"O": 2, "triple": "amdgcn-amd-amdhsa", "chip": "gfx900", "features": "", "abi": "600", "flags": None, "link": None}


@irdl_attr_definition
class VceAttr(ParametrizedAttribute):
    """A version of SPIR-V with capabilities and extensions: ``#spirv.vce<v1.4, [Kernel, Addresses], [SPV_KHR_expect_assume]>``."""

    name = "spirv.vce"
    version: StringAttr = param_def()
    capabilities: ArrayAttr[StringAttr] = param_def()
    extensions: ArrayAttr[StringAttr] = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        def words() -> ArrayAttr[StringAttr]:
            return ArrayAttr(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: StringAttr(parser.parse_identifier())))

        with parser.in_angle_brackets():
            version = StringAttr(parser.parse_identifier("a version such as v1.4"))
            parser.parse_punctuation(",")
            capabilities = words()
            parser.parse_punctuation(",")
            return [version, capabilities, words()]

    def print_parameters(self, printer: Printer) -> None:
        lists = ", ".join(f"[{', '.join(word.data for word in words)}]" for words in (self.capabilities, self.extensions))
        printer.print_string(f"<{self.version.data}, {lists}>")


@irdl_attr_definition
class ResourceLimitsAttr(ParametrizedAttribute):
    """The limited resources of a SPIR-V device: ``#spirv.resource_limits<subgroup_size = 32>``."""

    name = "spirv.resource_limits"
    limits: DictionaryAttr = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        made: dict[str, Attribute] = {}

        def entry() -> None:
            key = parser.parse_identifier()
            parser.parse_punctuation("=")
            number = parser.parse_optional_integer(allow_boolean=False)
            made[key] = parser.parse_attribute() if number is None else IntAttr(number)

        parser.parse_comma_separated_list(parser.Delimiter.ANGLE, entry)
        return [DictionaryAttr(made)]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string("<")
        for number, (key, value) in enumerate(self.limits.data.items()):
            printer.print_string(f"{', ' * bool(number)}{key} = ")
            if isinstance(value, IntAttr):
                printer.print_string(str(cast("IntAttr[int]", value).data))
            else:
                printer.print_attribute(value)
        printer.print_string(">")


UNKNOWN = "Unknown"
"""An interface, a vendor or a kind of device that is not said."""


@irdl_attr_definition
class SPIRVTargetAttr(ParametrizedAttribute):
    """``#spirv.target_env<#spirv.vce<v1.4, [Kernel], []>, api=OpenCL, Intel:CPU, #spirv.resource_limits<>>``.

    Attributes:
        vce: the version, with capabilities and extensions.
        client_api: the interface through which it is launched, or ``Unknown``.
        device: vendor, kind and number of the device, the last two if they are known.
        limits: what there is of what is limited.
    """

    name = "spirv.target_env"
    vce: VceAttr = param_def()
    client_api: StringAttr = param_def()
    device: ArrayAttr[StringAttr] = param_def()
    limits: ResourceLimitsAttr = param_def()

    @classmethod
    def of(
        cls,
        version: str = "v1.0",
        capabilities: tuple[str, ...] = (),
        extensions: tuple[str, ...] = (),
        client_api: str = UNKNOWN,
        device: tuple[str, ...] = (),
    ) -> SPIRVTargetAttr:
        """The target from words."""

        def array(words: tuple[str, ...]) -> ArrayAttr[StringAttr]:
            return ArrayAttr([StringAttr(word) for word in words])

        vce = VceAttr(StringAttr(version), array(capabilities), array(extensions))
        return cls(vce, StringAttr(client_api), array(device), ResourceLimitsAttr(DictionaryAttr({})))

    @property
    def version(self) -> str:
        """The version of SPIR-V, as in ``v1.4``."""
        return self.vce.version.data

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        def number() -> str:
            value = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
            return parser.parse_identifier() if value is None else str(value)

        with parser.in_angle_brackets():
            vce = parser.parse_attribute()
            parser.parse_punctuation(",")
            client, device = UNKNOWN, list[str]()
            if parser.parse_optional_keyword("api") is not None:
                parser.parse_punctuation("=")
                client = parser.parse_identifier()
                parser.parse_punctuation(",")
            if (vendor := parser.parse_optional_identifier()) is not None:
                device.append(vendor)
                while parser.parse_optional_punctuation(":") is not None:
                    device.append(number())
                parser.parse_punctuation(",")
            limits = parser.parse_attribute()
        return [vce, StringAttr(client), ArrayAttr([StringAttr(word) for word in device]), limits]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string("<")
        printer.print_attribute(self.vce)
        client = "" if self.client_api.data == UNKNOWN else f", api={self.client_api.data}"
        device = f", {':'.join(word.data for word in self.device)}" if self.device.data else ""
        printer.print_string(f"{client}{device}, ")
        printer.print_attribute(self.limits)
        printer.print_string(">")


TARGETS = (NVVMTargetAttr, ROCDLTargetAttr, SPIRVTargetAttr)
"""The attributes that may be among a module's targets."""

NVVM = Dialect("nvvm", [], [NVVMTargetAttr])
ROCDL = Dialect("rocdl", [], [ROCDLTargetAttr])
SPIRV = Dialect("spirv", [], [SPIRVTargetAttr, VceAttr, ResourceLimitsAttr])
