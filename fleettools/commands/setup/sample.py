"""`fleetd sample`: print one of the samples that come with fleettools, or their names."""

from fleettools.adapters import samples
from fleettools.cli import Context
from fleettools.errors import Exit


def sample(ctx: Context, name: str | None) -> Exit:
    """Print a sample; without a name, what there is."""
    if name is None:
        ctx.out.write("".join(f"{one}\n" for one in samples.names()).encode())
    else:
        with open(samples.path(name), "rb") as file:
            ctx.out.write(file.read())
    ctx.out.flush()
    return Exit.OK
