import { createSourceParser } from '../../telltale/src/memory/parse/source-parser.ts';
import { OWN_SOURCES, unpackPackages } from '../../telltale/test/memory/oracle/code-bases.ts';
import { type Comparison, compareFolder } from '../../telltale/test/memory/oracle/compare.ts';
import { table } from '../parsing/table.ts';
import type { Measurement } from './measurement.ts';
import { judgeCorrectness } from './targets.ts';

const SHOWN = 5;

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
    const verdicts = compared.flatMap(([name, comparison]) => judgeCorrectness(name, comparison));
    return { text: report(compared), figures: Object.fromEntries(compared.map(short)), verdicts };
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

function describe(name: string, { declarations, imports, kinds }: Comparison): readonly string[] {
  const missed = Object.entries(kinds)
    .filter(([, { missing }]) => missing > 0)
    .sort(([, a], [, b]) => b.missing - a.missing)
    .map(([kind, { missing, expected }]) => `${missing} of ${expected} of kind ${kind}`);
  const list = (what: string, places: readonly string[]) =>
    places.length === 0
      ? []
      : [`${name}, ${what}: ${places.length}, such as ${places.slice(0, SHOWN).join('; ')}.`];
  return [
    ...(missed.length === 0 ? [] : [`${name}, missing by kind: ${missed.join(', ')}.`]),
    ...list('declarations missing', declarations.missing),
    ...list('declarations that the compiler does not have', declarations.surplus),
    ...list('imports missing', imports.missing),
    ...list('imports that the compiler does not have', imports.surplus),
  ];
}

const short = ([name, { files, broken, declarations, imports, kinds }]: readonly [string, Comparison]) => {
  const figures = ({ expected, found, recall, precision }: Comparison['imports']) => ({
    ...{ expected, found, recall, precision },
  });
  return [
    name,
    { files, broken: broken.length, declarations: figures(declarations), imports: figures(imports), kinds },
  ] as const;
};
