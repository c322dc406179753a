"""What PyTorch loads at its own import: apart from cohom, so that it costs nothing by default."""

import os


def autoload() -> None:
    """Have models compress their gradients by the codec in COHOM_TORCH, if there is one.

    Raises ValueError, which names the variable, where there is no such codec.
    """
    codec = os.environ.get("COHOM_TORCH")
    if not codec:
        return
    from cohom import Error
    from cohom.unchanged import install
    try:
        install(codec)
    except Error as error:
        raise ValueError(f"COHOM_TORCH is '{codec}': {error}") from error
