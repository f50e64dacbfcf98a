"""The history as a file: CSV, a workbook, JSON or Parquet, whole or not at all."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

from petstore_tools.tabular.atomic import write_output

if TYPE_CHECKING:
    import pandas as pd

ENDINGS: Final = (".csv", ".xlsx", ".json", ".parquet")


def write(history: pd.DataFrame, path: Path) -> None:
    """
    Write a history, as `PetStore.history` returns it; times are UTC.

    The interval `ended_between` becomes two columns, `ended_after` and `ended_before`.

    Raises:
        OutputError: The file cannot be written.
        MissingExtraError: Parquet needs the extra `parquet`.
    """
    import pandas as pd

    between = pd.arrays.IntervalArray(history["ended_between"])
    flat = history.drop(columns="ended_between").assign(ended_after=between.left, ended_before=between.right)
    match path.suffix.casefold():
        case ".csv":
            content = flat.to_csv(index=False).encode()
        case ".json":
            content = flat.to_json(orient="records", date_format="iso", force_ascii=False, indent=1).encode()
        case ".parquet":
            content = flat.to_parquet(index=False)
        case _:
            content = _workbook(flat)
    write_output(path, content)


def _workbook(flat: pd.DataFrame) -> bytes:
    """Return a workbook with a filter; Excel knows no time zones, so the titles say UTC."""
    import pandas as pd

    times = [name for name in flat.columns if isinstance(flat[name].dtype, pd.DatetimeTZDtype)]
    naive = flat.assign(**{name: flat[name].dt.tz_localize(None) for name in times})
    naive = naive.rename(columns={name: f"{name} (UTC)" for name in times})
    sink, as_text = BytesIO(), {"options": {"strings_to_formulas": False, "strings_to_urls": False}}
    with pd.ExcelWriter(
        sink, engine="xlsxwriter", engine_kwargs=as_text, datetime_format="yyyy-mm-dd hh:mm:ss"
    ) as writer:
        naive.to_excel(writer, sheet_name="History", index=False, freeze_panes=(1, 0), autofilter=True)
        writer.sheets["History"].autofit()
    return sink.getvalue()
