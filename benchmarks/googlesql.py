"""What GoogleSQL's own analyzer says of the queries in `tests/check/googlesql.sql`, beside what PrivQL says of them.

    python benchmarks/googlesql.py [--peer-python PATH]

The peer is GoogleSQL's analyzer with its rewriter of differential privacy, run by another interpreter that has
`zetasql` (`--peer-python`, or PRIVQL_PEERS). The file's headings say what each of the two answers; whatever answers
otherwise is shown.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.check.clinic import clinic
from tests.check.googlesql import TEXTS, accepted

PEER = """
import json, sys
from zetasql.api import Analyzer, CatalogBuilder, TableBuilder
from zetasql.types import AnalyzerOptions, LanguageOptions, ProductMode, TypeKind, ZetaSQLBuiltinFunctionOptions
from zetasql.types.proto_model import generated
tables, texts = json.load(sys.stdin)
language = LanguageOptions.maximum_features()
wanted = ("DIFFERENTIAL_PRIVACY", "ANONYMIZATION", "FEATURE_PIPES", "AGGREGATION_THRESHOLD")
more = {each for each in generated.LanguageFeature if any(name in each.name for name in wanted)}
language.enabled_language_features = sorted({*language.enabled_language_features, *more})
language.product_mode = ProductMode.PRODUCT_EXTERNAL
def catalog(told):
    built = CatalogBuilder("clinic")
    for name, columns in tables.items():
        table = TableBuilder(name)
        for column, kind in columns.items():
            table.add_column(column, TypeKind["TYPE_" + kind])
        table = table.build()
        if told and "patient_id" in columns:
            table.anonymization_info = generated.SimpleAnonymizationInfo(userid_column_name=["patient_id"])
        built.add_table(table)
    return built.with_builtin_functions(ZetaSQLBuiltinFunctionOptions(language_options=language)).build()
rewrites = [each for each in generated.ResolvedASTRewrite if each.name == "REWRITE_ANONYMIZATION"]
options = AnalyzerOptions(language_options=language, enabled_rewrites=rewrites, allow_undeclared_parameters=True)
# Either the option or the table tells the unit, never both.
analyzers, answers = [Analyzer(options, catalog(told)) for told in (False, True)], []
for text in texts:
    try:
        analyzers["privacy_unit_column" not in text.lower()].analyze_statement(text)
        answers.append("")
    except Exception as refused:
        answers.append(str(refused).splitlines()[0])
json.dump(answers, sys.stdout)
"""

TABLES = {
    "patients": {
        "patient_id": "STRING", "age": "INT64", "sex": "STRING", "region": "STRING", "smoker": "BOOL",
        "cost": "NUMERIC", "weight": "DOUBLE", "income": "INT64", "town": "STRING",
        "admitted": "DATE", "seen": "TIMESTAMP",
    },
    "visits": {"visit_id": "INT64", "patient_id": "STRING", "ward": "STRING", "minutes": "INT64"},
    "calls": {"patient_id": "STRING", "minutes": "INT64"},
    "regions": {
        "code": "STRING", "name": "STRING", "population": "INT64", "area": "NUMERIC", "founded": "DATE", "open": "BOOL",
    },
    "stations": {"id": "INT64", "code": "STRING", "height": "DOUBLE", "staff": "INT64", "checked": "TIMESTAMP"},
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer-python", default=os.environ.get("PRIVQL_PEERS"), help="an interpreter that has zetasql")
    python = parser.parse_args().peer_python
    if python is None:
        sys.exit("no peer: name an interpreter that has `zetasql` (--peer-python or PRIVQL_PEERS)")
    asked = json.dumps([TABLES, [text.query for text in TEXTS]])
    peer = subprocess.run([python, "-c", PEER], input=asked, capture_output=True, text=True, check=True)
    tally: dict[tuple[bool, bool], int] = {}
    otherwise = 0
    with clinic() as session:
        for text, refusal in zip(TEXTS, json.loads(peer.stdout), strict=True):
            found = (not refusal, accepted(session, text.query))
            tally[found] = tally.get(found, 0) + 1
            if found != (text.theirs, text.ours):
                otherwise += 1
                print(f"not as the file says: {text.query}\n    {refusal or 'GoogleSQL accepts it'}")
    print(f"{len(TEXTS)} queries, of which {otherwise} are answered otherwise than the file says")
    for theirs, ours in sorted(tally, reverse=True):
        print(f"  GoogleSQL {_said(theirs)}, PrivQL {_said(ours)}: {tally[theirs, ours]}")


def _said(accepted: bool) -> str:
    return "accepts" if accepted else "refuses"


if __name__ == "__main__":
    main()
