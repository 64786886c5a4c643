import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { RuntimeError } from '../../lib/errors.ts';
import { suggest } from '../../lib/nearest.ts';
import type { CommandContext, RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../command.ts';
import type { KnownThings, Thing, ThingKind } from '../inspect/facts.ts';
import type { Io } from '../io.ts';
import { paletteFor } from '../io.ts';
import { shellWord, usage } from '../options.ts';
import { startProgress } from '../progress.ts';
import { countText } from '../view/figures.ts';
import { harmlessLine } from '../view/harmless.ts';
import { jsonText } from '../view/json-text.ts';
import { type Column, tableLines } from '../view/text-width.ts';

interface InspectOptions {
  readonly in: string;
  readonly json?: true;
}

const EXAMPLES = `
KIND is agent, tool, relic, artifact, workflow or prompt; the default is all of them.
Without a name, it lists everything of that kind, including the built-in tools and prompts.

Examples:
  $ telltale inspect
  $ telltale inspect filesystem
  $ telltale inspect relic notes               its driver's operations, with their parameters
  $ telltale inspect agent coder --json | jq '.[0].manifest.limits'
`;

const LABEL = 13;
const COLUMNS: readonly Column[] = [
  { title: 'KIND' },
  { title: 'NAME' },
  { title: 'FILE' },
  { title: 'DESCRIPTION', gives: true },
];
/** A password in an address. */
const PASSWORD = /(:\/\/[^/\s:@"]*:)[^@/\s"]+@/g;

export const registerInspect: RegisterCommand = (program, context) => {
  program
    .command('inspect')
    .summary('show what is known about a name')
    .description(
      'Shows what is known about agents, tools, relics, artifacts, workflows and prompts. Nothing is run.',
    )
    .argument('[kind]', 'only names of this kind')
    .argument('[names...]', 'the names')
    .option('--in <path>', 'the folder or manifest to look in', '.')
    .option('--json', 'print it as a JSON list')
    .addHelpText('after', EXAMPLES)
    .action(
      context.run((kind: string | undefined, names: readonly string[], options: InspectOptions) =>
        inspect([...(kind === undefined ? [] : [kind]), ...names], options, context),
      ),
    );
};

async function inspect(
  words: readonly string[],
  options: InspectOptions,
  { io }: CommandContext,
): Promise<ExitCode> {
  if (!existsSync(resolve(io.cwd, options.in)))
    throw usage(`--in '${options.in}' does not exist.`, 'Name a folder with manifests, or a manifest.');
  const stopProgress = startProgress(io, () => 'Reading manifests…');
  let known: KnownThings;
  try {
    const { knownThings } = await import('../inspect/facts.ts');
    known = await knownThings(options.in, io);
  } finally {
    await stopProgress();
  }
  const { kind, names } = readWords(words, known.things);
  const things = known.things.filter((thing) => kind === undefined || thing.kind === kind);
  if (known.mistakes > 0 && options.json !== true)
    await io.stderr.write(
      `${countText(known.mistakes, 'mistake')} in the manifests of this folder. Manifests with mistakes are not listed; ${io.program} validate ${shellWord(options.in)} shows them.\n`,
    );
  const found = names.length === 0 ? things : names.flatMap((name) => thingsNamed(name, things, kind));
  if (options.json === true)
    await io.stdout.write(jsonText(found.map(thingJson), 2).replace(PASSWORD, '$1***@'));
  else await (names.length === 0 ? printList(found, io) : printThings(found, io));
  return EXIT.ok;
}

/** The first word is a kind, unless it is the only word and something has that name. */
function readWords(
  words: readonly string[],
  things: readonly Thing[],
): { readonly kind: ThingKind | undefined; readonly names: readonly string[] } {
  const [first = '', ...rest] = words;
  const kinds: readonly ThingKind[] = ['Agent', 'Tool', 'Relic', 'Artifact', 'Workflow', 'Prompt'];
  const kind = kinds.find((each) =>
    [each, `${each}s`].some((word) => word.toLowerCase() === first.toLowerCase()),
  );
  const isName = rest.length === 0 && things.some(({ name }) => name === first);
  return kind === undefined || isName ? { kind: undefined, names: words } : { kind, names: rest };
}

function thingsNamed(asked: string, things: readonly Thing[], kind: ThingKind | undefined): readonly Thing[] {
  const found = things.filter(({ name }) => name === asked);
  if (found.length > 0) return found;
  const names = [...new Set(things.map(({ name }) => name))];
  const what = kind === undefined ? 'Nothing' : `No ${kind.toLowerCase()}`;
  throw new RuntimeError('name_unknown', `${what} here is named "${asked}".`, {
    hint: names.length === 0 ? 'Name a folder with manifests: --in DIR.' : suggest(asked, names, 'Names'),
  });
}

const thingJson = ({ usedBy, ...thing }: Thing) => ({
  ...thing,
  builtin: thing.file === undefined,
  used_by: usedBy,
});

async function printList(things: readonly Thing[], { stdout, cwd }: Io): Promise<void> {
  const { near } = await import('../inspect/facts.ts');
  const { dim } = paletteFor(stdout);
  const rows = things.map(({ kind, name, file, description = '' }) => [
    kind.toLowerCase(),
    name,
    file === undefined ? 'built in' : near(file, cwd),
    harmlessLine(description),
  ]);
  const lines = tableLines(COLUMNS, rows, {
    columns: stdout.columns,
    paint: (text, row) => (row === -1 ? dim(text) : text),
  });
  await stdout.write(`${lines.join('\n')}\n`);
}

async function printThings(things: readonly Thing[], { stdout, cwd }: Io): Promise<void> {
  const { factsOf } = await import('../inspect/facts.ts');
  const { bold, dim } = paletteFor(stdout);
  const pages = things.map((thing) => {
    const facts = factsOf(thing, cwd).flatMap(([label, lines]) =>
      lines.map((line, index) => {
        const text = line.replace(/^( *)(.*)$/s, (_, indent, rest) => indent + harmlessLine(rest));
        return label === '' ? `  ${text}` : `  ${dim((index === 0 ? label : '').padEnd(LABEL))}${text}`;
      }),
    );
    return [`${bold(`${thing.kind} ${thing.name}`)}`, ...facts].join('\n');
  });
  await stdout.write(`${pages.join('\n\n')}\n`);
}
