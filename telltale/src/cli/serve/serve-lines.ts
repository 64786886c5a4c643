import { relative } from 'node:path';
import type { Palette } from '../../manifest/palette.ts';
import type { CatalogEntry } from '../../server/catalog/agent-catalog.ts';

export interface Look {
  readonly paint: Palette;
  readonly cwd: string;
}

export interface Opened {
  /** The address of the console, with a token. */
  readonly link: string;
  readonly version: string;
  readonly isDev: boolean;
  /** Whether the agent is the one that newcomers meet. */
  readonly isTour: boolean;
  readonly store: string;
}

/** What is said once the server listens. */
export function openingText(opened: Opened, agents: readonly CatalogEntry[], look: Look): string {
  const { paint } = look;
  const { link, version, isDev, isTour, store } = opened;
  const names = agents.filter(({ agent }) => agent !== undefined).map(({ name }) => name);
  const what = isTour
    ? `${names.join(', ')}, a sample in telltale-tour, since this folder has no agent`
    : names.join(', ');
  return [
    `${paint.bold(`Telltale ${version}`)}${isDev ? paint.dim(' · reloads manifests when they change') : ''}`,
    `  console  ${paint.cyan(link)}`,
    `  agents   ${what === '' ? 'none can be started' : what}`,
    `  store    ${store}`,
    ...agents.flatMap((entry) => problemLines(entry, look)),
    paint.dim(
      isDev
        ? 'Open the link and start an agent. Anyone with the link can use this server, so keep it private. Ctrl-C stops it.'
        : 'Anyone with the link can use this server, so keep it private. Ctrl-C stops it.',
    ),
    '',
  ].join('\n');
}

/** What is said once a worker works. */
export function workingText(
  { fleet, store, version }: { readonly fleet: string; readonly store: string; readonly version: string },
  agents: readonly CatalogEntry[],
  look: Look,
): string {
  const { paint } = look;
  const names = agents.filter(({ agent }) => agent !== undefined).map(({ name }) => name);
  return [
    paint.bold(`Telltale ${version}, a worker`),
    `  fleet    ${fleet}`,
    `  agents   ${names.join(', ')}`,
    `  store    ${store}`,
    ...agents.flatMap((entry) => problemLines(entry, look)),
    paint.dim('See the fleet: telltale fleet. Ctrl-C stops it.'),
    '',
  ].join('\n');
}

/** What an edit came to: which agents are new, other than before, broken or gone. Empty where nothing is to be told. */
export function reloadText(
  before: readonly CatalogEntry[],
  now: readonly CatalogEntry[],
  look: Look,
): string {
  const { paint } = look;
  const old = new Map(before.map((entry) => [entry.name, entry]));
  const lines = now.flatMap((entry) => {
    const was = old.get(entry.name);
    if (entry.problems.some(({ severity }) => severity === 'error')) return problemLines(entry, look);
    if (was === undefined) return [`${paint.green('+')} ${entry.name}`];
    return was.agent?.hash === entry.agent?.hash && was.problems.length === 0
      ? []
      : [`${paint.green('✓')} ${entry.name} was reloaded`];
  });
  const gone = before.filter(({ name }) => !now.some((entry) => entry.name === name));
  return [...lines, ...gone.map(({ name }) => `${paint.yellow('-')} ${name} is gone`)]
    .map((line) => `${line}\n`)
    .join('');
}

function problemLines({ name, agent, problems }: CatalogEntry, { paint, cwd }: Look): readonly string[] {
  const errors = problems.filter(({ severity }) => severity === 'error');
  const [first] = errors;
  if (first === undefined) return [];
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  return [
    `${paint.red('✗')} ${name}: ${first.message}${more}`,
    `  ${paint.dim(`${near(first.file, cwd)}:${first.line}:${first.column}`)}`,
    ...(first.hint === undefined ? [] : [`  ${paint.cyan('→')} ${first.hint}`]),
    agent === undefined ? '  This agent cannot be started.' : '  The previous version stays in use.',
  ];
}

const near = (path: string, cwd: string): string => {
  const shown = relative(cwd, path);
  return shown.startsWith('..') ? path : shown;
};
