import type { Clock } from '../../lib/clock.ts';
import { RuntimeError } from '../../lib/errors.ts';
import { identityText } from '../../lib/ids.ts';
import { suggest } from '../../lib/nearest.ts';
import { hunks, lineDiff } from '../../lib/text.ts';
import type { Store } from '../../store/store.ts';
import type { Artifacts, ArtifactVersion } from '../../tools/artifacts/artifacts.ts';
import { createArtifacts } from '../../tools/artifacts/create-artifacts.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../command.ts';
import { paletteFor } from '../io.ts';
import { usage, wholeNumber } from '../options.ts';
import { signerFor } from '../program.ts';
import { withStoredSessions } from '../session/with-runtime.ts';
import { agoText, countText, timeText } from '../view/figures.ts';
import { harmlessLine, harmlessLines } from '../view/harmless.ts';
import { jsonText } from '../view/json-text.ts';
import { brief, type Column, tableLines } from '../view/text-width.ts';

export interface ShowOptions {
  readonly store?: string;
  readonly version?: string;
  readonly diff?: string;
  readonly json?: true;
}

export interface RollbackOptions {
  readonly store?: string;
  readonly by?: string;
  readonly json?: true;
}

const LABEL = 13;
const MAX_CELL = 200;
/** How many versions are listed; --json lists all. */
const MAX_VERSIONS = 20;

const COLUMNS: readonly Column[] = [
  { title: 'ARTIFACT' },
  { title: 'VERSION', align: 'right' },
  { title: 'AUTHOR' },
  { title: 'WRITTEN' },
  { title: 'METHODS' },
  { title: 'DESCRIPTION', gives: true },
];

/** `telltale artifact list`. */
export async function listArtifacts(
  options: { readonly store?: string; readonly json?: true },
  context: CommandContext,
): Promise<ExitCode> {
  const { stdout, clock } = context.io;
  return withStoredSessions(context, options, async ({ store }) => {
    const artifacts = storedArtifacts(store, clock);
    const found: ArtifactVersion[] = [];
    for (const name of await artifacts.names()) {
      const newest = await artifacts.read(name);
      if (newest !== undefined) found.push(newest);
    }
    if (options.json === true) {
      await stdout.write(jsonText(found.map(artifactJson), 2));
      return EXIT.ok;
    }
    const { dim } = paletteFor(stdout);
    const rows = found.map((each) => [
      brief(each.name, MAX_CELL),
      String(each.version),
      brief(identityText(each.author), MAX_CELL),
      each.at === 0 ? 'built in' : agoText(clock.now() - each.at),
      brief(each.methods.join(', '), MAX_CELL),
      brief(each.description ?? '', MAX_CELL),
    ]);
    const lines = tableLines(COLUMNS, rows, {
      columns: stdout.columns,
      paint: (text, row) => (row === -1 ? dim(text) : text),
    });
    await stdout.write(`${lines.join('\n')}\n`);
    return EXIT.ok;
  });
}

/** `telltale artifact show`. */
export async function showArtifact(
  name: string,
  options: ShowOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { io } = context;
  const version = options.version === undefined ? undefined : wholeNumber('--version', options.version);
  const compared = options.diff === undefined ? undefined : readDiff(options.diff);
  return withStoredSessions(context, options, async ({ store }) => {
    const artifacts = storedArtifacts(store, io.clock);
    const shown = await findVersion(artifacts, name, compared?.after ?? version);
    if (compared !== undefined) {
      const before = await findVersion(artifacts, name, compared.before);
      await printDiff(before, shown, options.json === true, io);
      return EXIT.ok;
    }
    const versions = await artifacts.versions(name);
    const json = { ...artifactJson(shown), source: shown.source, versions: versions.map(artifactJson) };
    await io.stdout.write(options.json === true ? jsonText(json, 2) : page(shown, versions, context));
    return EXIT.ok;
  });
}

/** `telltale artifact rollback`: writes an old version again, as a new one. */
export async function rollbackArtifact(
  name: string,
  to: string,
  options: RollbackOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { stdout, clock } = context.io;
  const version = wholeNumber('VERSION', to);
  return withStoredSessions(context, options, async ({ store }) => {
    const artifacts = storedArtifacts(store, clock);
    const made = await artifacts.rollback(name, version, signerFor(options.by));
    await stdout.write(
      options.json === true
        ? jsonText(artifactJson(made), 2)
        : `Version ${version} of ${harmlessLine(name)} is restored as version ${made.version}.\n`,
    );
    return EXIT.ok;
  });
}

const artifactJson = ({ source: _source, at, ...rest }: ArtifactVersion) => ({
  ...rest,
  written: at === 0 ? null : timeText(at),
});

/** `1..3`, or `1` to compare with the newest. */
function readDiff(text: string): { readonly before: number; readonly after?: number } {
  const [, before = '', after] = /^(\d+)(?:\.\.(\d+))?$/.exec(text) ?? [];
  if (before === '')
    throw usage(
      `--diff '${text}' does not name two versions.`,
      'Write --diff 1..3, or --diff 1 for the newest.',
    );
  return {
    before: wholeNumber('--diff', before),
    ...(after === undefined ? {} : { after: wholeNumber('--diff', after) }),
  };
}

function page(shown: ArtifactVersion, versions: readonly ArtifactVersion[], { io }: CommandContext): string {
  const { bold, dim } = paletteFor(io.stdout);
  const field = (label: string, text: string) => `  ${dim(label.padEnd(LABEL))}${harmlessLine(text)}`;
  const older = versions.slice(-MAX_VERSIONS).toReversed();
  const lines = [
    bold(`Artifact ${harmlessLine(shown.name)}`),
    ...(shown.description === undefined ? [] : [`  ${harmlessLine(shown.description)}`]),
    field('version', `${shown.version} of ${versions.at(-1)?.version ?? shown.version}`),
    field('author', identityText(shown.author)),
    ...(shown.at === 0 ? [] : [field('written', timeText(shown.at))]),
    field('methods', shown.methods.join(', ')),
    ...(older.length < 2
      ? []
      : older.map((each, index) => field(index === 0 ? 'versions' : '', versionText(each, io.clock.now())))),
    ...(versions.length > older.length
      ? [
          `  ${' '.repeat(LABEL)}${dim(`… ${countText(versions.length - older.length, 'older one')}: --json lists all`)}`,
        ]
      : []),
    '',
    ...harmlessLines(shown.source.trimEnd()),
  ];
  return `${lines.join('\n')}\n`;
}

const versionText = ({ version, author, at, restores }: ArtifactVersion, now: number): string =>
  `${version}  ${agoText(now - at)} by ${identityText(author)}${restores === undefined ? '' : `, a copy of version ${restores}`}`;

async function printDiff(
  before: ArtifactVersion,
  after: ArtifactVersion,
  isJson: boolean,
  { stdout }: CommandContext['io'],
): Promise<void> {
  const lines = lineDiff(before.source.trimEnd(), after.source.trimEnd());
  if (isJson) {
    const json = { artifact: after.name, before: before.version, after: after.version, lines };
    await stdout.write(jsonText(json, 2));
    return;
  }
  const { bold, dim, green, red } = paletteFor(stdout);
  const shown = hunks(lines).map((line) => {
    if (line === undefined) return dim('…');
    const text = harmlessLines(line.text).join(' ');
    return line.kind === 'same' ? `  ${text}` : line.kind === 'old' ? red(`- ${text}`) : green(`+ ${text}`);
  });
  const head = bold(`${harmlessLine(after.name)}: version ${before.version} → ${after.version}`);
  const isSame = lines.every(({ kind }) => kind === 'same');
  await stdout.write(`${[head, ...(isSame ? ['The source is the same.'] : shown)].join('\n')}\n`);
}

/** The artifacts of a store, to read them or to roll back. Their checks ran when they were written. */
export const storedArtifacts = (store: Pick<Store, 'tables'>, clock: Pick<Clock, 'now'>): Artifacts =>
  createArtifacts({ tables: store.tables, clock, check: async () => undefined });

/** A version of an artifact, by default the newest. */
async function findVersion(artifacts: Artifacts, name: string, version?: number): Promise<ArtifactVersion> {
  const found = await artifacts.read(name, version);
  if (found !== undefined) return found;
  const newest = version === undefined ? undefined : await artifacts.read(name);
  if (newest !== undefined) throw versionUnknown(name, version ?? 0, newest.version);
  throw artifactUnknown(name, await artifacts.names());
}

const artifactUnknown = (name: string, known: readonly string[]) =>
  new RuntimeError('artifact_unknown', `There is no artifact '${name}' in this store.`, {
    hint: `${suggest(name, known, 'Artifacts')} An artifact of a manifest is added when its agent first runs.`,
  });

const versionUnknown = (name: string, version: number, newest: number) =>
  new RuntimeError('version_unknown', `The artifact "${name}" has no version '${version}'.`, {
    hint: `Its newest is ${newest}: telltale artifact show ${name}`,
  });
