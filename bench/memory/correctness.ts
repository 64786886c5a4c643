import { createSourceParser } from '../../telltale/src/memory/parse/source-parser.ts';
import { OWN_SOURCES, unpackPackages } from '../../telltale/test/memory/oracle/code-bases.ts';
import { type Comparison, compareFolder } from '../../telltale/test/memory/oracle/compare.ts';
import { compareGraph, type GraphComparison } from '../../telltale/test/memory/oracle/compare-graph.ts';
import { table } from '../parsing/table.ts';
import type { Measurement } from './measurement.ts';
import { judgeCorrectness, judgeEdges } from './targets.ts';

const SHOWN = 5;
/** Exported functions whose callers are looked for. */
const FUNCTIONS = 200;

/** What is read of TypeScript sources beside what the compiler's own tree says of them. */
export const measureCorrectness: Measurement = async ({ packages, progress }) => {
  progress(`fetching ${packages.join(', ')}`);
  const unpacked = await unpackPackages(packages);
  const parser = createSourceParser();
  try {
    const compared: (readonly [string, Comparison])[] = [];
    for (const [name, folder] of [['telltale/src', OWN_SOURCES], ...unpacked.sources] as const) {
      progress(`comparing ${name}`);
      compared.push([name, await compareFolder(folder, parser)]);
    }
    const graphs: (readonly [string, GraphComparison])[] = [];
    for (const [name, folder] of [['telltale/src', OWN_SOURCES], ...unpacked.sources] as const) {
      progress(`indexing ${name}`);
      graphs.push([name, await compareGraph(folder, FUNCTIONS)]);
    }
    const verdicts = [
      ...compared.flatMap(([name, comparison]) => judgeCorrectness(name, comparison)),
      ...graphs.flatMap(([name, { edges }]) => judgeEdges(name, edges)),
    ];
    const figures = {
      ...Object.fromEntries(compared.map(short)),
      graph: Object.fromEntries(graphs.map(([name, each]) => [name, graphFigures(each)])),
    };
    return { text: `${report(compared)}\n\n${graphReport(graphs)}`, figures, verdicts };
  } finally {
    parser.close();
    await unpacked.remove();
  }
};

function report(compared: readonly (readonly [string, Comparison])[]): string {
  const share = (value: number) => value.toFixed(4);
  const count = (value: number) => value.toLocaleString('en-US');
  const head = [
    'code base',
    'files',
    'declarations',
    'recall',
    'precision',
    'imports',
    'recall',
    'precision',
    'broken',
  ];
  const rows = compared.map(([name, { files, broken, declarations, imports }]) => [
    name,
    count(files),
    count(declarations.expected),
    share(declarations.recall),
    share(declarations.precision),
    count(imports.expected),
    share(imports.recall),
    share(imports.precision),
    count(broken.length),
  ]);
  const differences = compared.flatMap(([name, comparison]) => describe(name, comparison));
  return [
    'Declarations by name, kind and line, imports by file and specifier, beside the tree of the TypeScript compiler.',
    '',
    table(head, rows),
    '',
    ...(differences.length === 0 ? ['No difference.'] : differences),
  ].join('\n');
}

function graphReport(graphs: readonly (readonly [string, GraphComparison])[]): string {
  const share = (value: number) => value.toFixed(4);
  const head = ['code base', 'edges', 'recall', 'precision', 'functions', 'calls', 'recall', 'precision'];
  const rows = graphs.map(([name, { edges, callers }]) => [
    name,
    edges.expected.toLocaleString('en-US'),
    share(edges.recall),
    share(edges.precision),
    ...(callers === undefined
      ? ['', '', '', '']
      : [
          String(callers.functions),
          String(callers.resolved.expected),
          `${share(callers.resolved.recall)}, by name ${share(callers.all.recall)}`,
          `${share(callers.resolved.precision)}, by name ${share(callers.all.precision)}`,
        ]),
  ]);
  const differences = graphs.flatMap(([name, { edges, callers }]) => [
    ...list(name, 'edges missing', edges.missing),
    ...list(name, 'edges that the compiler does not have', edges.surplus),
    ...list(name, 'calls missing', callers?.resolved.missing ?? []),
    ...list(name, 'calls that the compiler does not have', callers?.resolved.surplus ?? []),
  ]);
  return [
    'Imports that lead from file to file in the graph beside what the compiler resolves; calls of exported functions that the graph has resolved, and all that have the name, beside references of the language service.',
    '',
    table(head, rows),
    '',
    ...(differences.length === 0 ? ['No difference.'] : differences),
  ].join('\n');
}

const list = (name: string, what: string, places: readonly string[]): readonly string[] =>
  places.length === 0
    ? []
    : [`${name}, ${what}: ${places.length}, such as ${places.slice(0, SHOWN).join('; ')}.`];

function describe(name: string, { declarations, imports, kinds }: Comparison): readonly string[] {
  const missed = Object.entries(kinds)
    .filter(([, { missing }]) => missing > 0)
    .sort(([, a], [, b]) => b.missing - a.missing)
    .map(([kind, { missing, expected }]) => `${missing} of ${expected} of kind ${kind}`);
  return [
    ...(missed.length === 0 ? [] : [`${name}, missing by kind: ${missed.join(', ')}.`]),
    ...list(name, 'declarations missing', declarations.missing),
    ...list(name, 'declarations that the compiler does not have', declarations.surplus),
    ...list(name, 'imports missing', imports.missing),
    ...list(name, 'imports that the compiler does not have', imports.surplus),
  ];
}

const agreement = ({ expected, found, recall, precision }: Comparison['imports']) => ({
  expected,
  found,
  recall,
  precision,
});

const graphFigures = ({ edges, callers }: GraphComparison) => ({
  edges: agreement(edges),
  ...(callers === undefined
    ? {}
    : { functions: callers.functions, calls: agreement(callers.resolved), byName: agreement(callers.all) }),
});

const short = ([name, { files, broken, declarations, imports, kinds }]: readonly [string, Comparison]) => {
  return [
    name,
    {
      files,
      broken: broken.length,
      declarations: agreement(declarations),
      imports: agreement(imports),
      kinds,
    },
  ] as const;
};
