"""`python -m cohom.info`: what there is."""

from . import codecs, version


def main() -> None:
    """Print version and codecs."""
    print(f"cohom {version()}")
    print("codecs:", ", ".join(codecs()))


if __name__ == "__main__":
    main()
