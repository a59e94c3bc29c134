"""Tables and columns: every name is resolved the way the servers do it, as far as that goes without them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from selectq.catalogue import Query
from selectq.checks.parsing import sql_of
from selectq.schema import build_metadata

SOURCE_ARGS = ("this", "from_", "using", "joins", "laterals")
ALIASES_COUNT_IN = ("order", "group", "having")
"""Clauses in which an output column may be named by its alias."""


@dataclass(frozen=True)
class Relation:
    """What a name in FROM stands for. ``columns`` is None where they are not known: those of most functions.

    ``table`` is the table of the schema that it is, or empty; ``cte`` the identity of the CTE that it is, or 0.
    """

    columns: frozenset[str] | None
    table: str = ""
    cte: int = 0

    def may_have(self, column: str) -> bool:
        return self.columns is None or column in self.columns


UNKNOWN = Relation(None)
SYSTEM_COLUMNS = {"postgresql": frozenset({"ctid"}), "mysql": frozenset[str]()}
"""Columns that every table has without being asked."""
Sources = dict[str, Relation]


def check_relations(query: Query, tree: exp.Expr) -> Iterator[str]:
    """Each table is in the schema, each column in what it is taken from; no ``*`` over a table; no CTE for nothing."""
    names = Names(query)
    names.statement(tree, {}, [])
    yield from names.problems
    for name in names.unused.values():
        yield f"CTE {name} is not used"


class Names:
    """A walk through one statement that keeps track of what each name can mean."""

    def __init__(self, query: Query) -> None:
        self.query = query
        system = SYSTEM_COLUMNS[query.dialect]
        self.tables = {
            name: Relation(system.union(column.name for column in table.columns), name)
            for name, table in build_metadata(query.dialect).tables.items()
        }
        self.found: dict[str, None] = {}
        self.unused: dict[int, str] = {}

    @property
    def problems(self) -> list[str]:
        return list(self.found)

    def problem(self, text: str) -> None:
        self.found[text] = None

    def statement(self, node: exp.Expr, ctes: Mapping[str, Relation], outer: list[Sources]) -> Relation:
        """Check a query or a change of rows, and return what it yields."""
        ctes = self.with_ctes(node, ctes, outer)
        if isinstance(node, exp.Subquery):
            return self.statement(node.this, ctes, outer)
        if isinstance(node, exp.SetOperation):
            left = self.statement(node.this, ctes, outer)
            self.statement(node.expression, ctes, outer)
            self.visit_all(node.args.get("order"), ctes, [{"": left}, *outer], frozenset())
            return left
        sources: Sources = {}
        for key in SOURCE_ARGS:
            for source in as_list(node.args.get(key)):
                self.add_source(source, sources, ctes, outer)
        if conflict := node.args.get("conflict"):
            sources["excluded"] = next(iter(sources.values()))
            if conflict.args.get("duplicate"):
                # There, MySQL knows the names that the SELECT of an INSERT reads from.
                for source in as_list(node.expression.args.get("from_")):
                    self.add_source(source, sources, ctes, outer)
        scope = [sources, *outer]
        outputs = self.outputs(node, scope)
        aliases = outputs.columns or frozenset()
        for key, value in node.args.items():
            if key not in ("with_", "hint", *SOURCE_ARGS):
                self.visit_all(value, ctes, scope, aliases if key in ALIASES_COUNT_IN else frozenset())
        return outputs

    def with_ctes(
        self, node: exp.Expr, ctes: Mapping[str, Relation], outer: list[Sources]
    ) -> Mapping[str, Relation]:
        clause = node.args.get("with_")
        known = dict(ctes)
        if clause is None:
            return ctes
        for cte in clause.expressions:
            columns = cte.alias_column_names
            if clause.recursive and isinstance(cte.this, exp.SetOperation):
                known[cte.alias] = named(self.statement(cte.this.this, known, outer), columns)
            result = named(self.statement(cte.this, known, outer), columns)
            known[cte.alias] = Relation(result.columns, cte=id(cte))
            if not isinstance(cte.this, exp.DML):
                self.unused[id(cte)] = cte.alias
        return known

    def add_source(
        self, node: exp.Expr, sources: Sources, ctes: Mapping[str, Relation], outer: list[Sources]
    ) -> None:
        """Add what one item of FROM brings in; it sees the items to its left."""
        scope = [sources, *outer]
        if isinstance(node, (exp.From, exp.Join)):
            self.add_source(node.this, sources, ctes, outer)
            self.visit_all(node.args.get("on"), ctes, scope, frozenset())
            return
        if isinstance(node, exp.Schema):
            self.add_source(node.this, sources, ctes, outer)
            for column in node.expressions:
                self.check_unqualified(column.name, [sources], frozenset())
            return
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            relation = self.table(node.name, ctes)
        elif isinstance(node, (exp.Subquery, exp.Lateral)) and isinstance(node.this.unnest(), exp.Query):
            relation = self.statement(node.this, ctes, scope if isinstance(node, exp.Lateral) else outer)
        else:
            self.visit_all(node.this, ctes, scope, frozenset())
            self.visit_all(node.args.get("rows_from"), ctes, scope, frozenset())
            relation = json_table(node.this) if isinstance(node.this, exp.JSONTable) else UNKNOWN
        sources[node.alias_or_name] = named(relation, node.alias_column_names)
        for join in node.args.get("joins") or []:
            self.add_source(join, sources, ctes, outer)

    def table(self, name: str, ctes: Mapping[str, Relation]) -> Relation:
        if name in ctes:
            self.unused.pop(ctes[name].cte, None)
            return ctes[name]
        if name not in self.tables:
            self.problem(f"table {name} is not in the schema")
        return self.tables.get(name, UNKNOWN)

    def outputs(self, node: exp.Expr, scope: list[Sources]) -> Relation:
        """The columns that a SELECT or a RETURNING yields; ``*`` is no way to read a table."""
        returning = node.args.get("returning")
        columns: set[str] = set()
        known = True
        for column in returning.expressions if returning else node.expressions:
            if not column.is_star:
                columns.add(column.output_name)
                continue
            alias = column.text("table")
            starred = [scope[0].get(alias, UNKNOWN)] if alias else list(scope[0].values())
            for relation in starred:
                if relation.table:
                    self.problem(f"{sql_of(self.query, column)} over table {relation.table}; name the columns")
                known = known and relation.columns is not None
                columns |= relation.columns or frozenset()
        return Relation(frozenset(columns) if known else None)

    def visit_all(
        self, value: object, ctes: Mapping[str, Relation], scope: list[Sources], aliases: frozenset[str]
    ) -> None:
        for node in as_list(value):
            self.visit(node, ctes, scope, aliases)

    def visit(
        self, node: exp.Expr, ctes: Mapping[str, Relation], scope: list[Sources], aliases: frozenset[str]
    ) -> None:
        if isinstance(node, (exp.Query, exp.DML)):
            self.statement(node, ctes, scope)
        elif isinstance(node, exp.Lock):
            for table in node.expressions:
                if table.name not in scope[0]:
                    self.problem(f"{sql_of(self.query, node)}: nothing is called {table.name} here")
        elif isinstance(node, exp.Column):
            self.check_column(node, scope, aliases)
        else:
            for child in node.iter_expressions():
                self.visit(child, ctes, scope, aliases)

    def check_column(self, column: exp.Column, scope: list[Sources], aliases: frozenset[str]) -> None:
        alias = column.table
        if not alias:
            self.check_unqualified(column.name, scope, aliases)
            return
        relation = next((sources[alias] for sources in scope if alias in sources), None)
        if relation is None:
            self.problem(f"{sql_of(self.query, column)}: nothing is called {alias} here")
        elif not isinstance(column.this, exp.Star) and not relation.may_have(column.name):
            where = f" in {relation.table}" if relation.table else ""
            self.problem(f"{sql_of(self.query, column)}: no such column{where}")

    def check_unqualified(self, name: str, scope: list[Sources], aliases: frozenset[str]) -> None:
        relations: Iterable[Relation] = (relation for sources in scope for relation in sources.values())
        if name not in aliases and not any(relation.may_have(name) for relation in relations):
            self.problem(f"{name}: no such column")


def as_list(value: object) -> list[exp.Expr]:
    values = value if isinstance(value, list) else [value]
    return [node for node in values if isinstance(node, exp.Expr)]


def named(relation: Relation, columns: list[str]) -> Relation:
    """The relation under its own column names, if an alias gives it some."""
    return Relation(frozenset(columns)) if columns else Relation(relation.columns, relation.table)


def json_table(node: exp.JSONTable) -> Relation:
    return Relation(frozenset(column.name for column in node.find_all(exp.JSONColumnDef)))
