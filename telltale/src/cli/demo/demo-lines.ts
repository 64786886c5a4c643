import { dirname, join } from 'node:path';
import { timeSavedText } from '../../events/time-saved.ts';
import type { Palette } from '../../manifest/palette.ts';
import type { Io } from '../io.ts';
import type { Followed } from '../run/follow-session.ts';
import { wrap } from '../view/columns.ts';
import { countText, spanText } from '../view/figures.ts';
import type { ChangedFile } from './changed-files.ts';
import type { Workspace } from './make-workspace.ts';

export interface DemoLines {
  readonly columns: number;
  readonly paint: Palette;
}

export function openingLines({ folder }: Workspace, input: string, { columns, paint }: DemoLines) {
  return [
    paint.bold(`An agent at work: "${input}"`),
    ...wrap(
      'The files, the commands and the tests are real; the model is scripted, so no key is needed. An action (▶) starts the moment its tag closes, while the model is still talking. A status that the agent declares (●) can trigger a workflow (⚡), which runs in the background.',
      columns,
    ).map(paint.dim),
    paint.dim(folder),
    '',
  ];
}

/** How it ended, what that took, and the time saved. */
export function closingLines(
  { result, times }: Pick<Followed, 'result' | 'times'>,
  changed: readonly ChangedFile[],
  /** Which workflow changed a file, by its path. */
  byWorkflow: ReadonlyMap<string, string>,
  isPaced: boolean,
  { columns, paint }: DemoLines,
): readonly string[] {
  const saved = timeSavedText(times.saved);
  const took = `✓ ${countText(result.turns, 'turn')}, ${spanText(times.workedMs)}.`;
  const [first = '', ...rest] = wrap(saved === undefined ? took : `${took} ${saved}`, columns - 2);
  const widest = Math.max(0, ...changed.map(({ path }) => path.length));
  return [
    '',
    paint.green(first),
    ...rest.map((line) => paint.green(`  ${line}`)),
    ...(isPaced
      ? []
      : wrap(
          'In a pipe the model speaks all at once. On a terminal, or with --rate 85, you see actions start while it speaks.',
          columns - 2,
        ).map((line) => paint.dim(`  ${line}`))),
    '',
    'Changed on disk:',
    ...changed.map(({ path, added, removed }) => {
      const workflow = byWorkflow.get(path);
      const by = workflow === undefined ? '' : paint.dim(`  by the workflow ${workflow}`);
      return `  ${path.padEnd(widest)}  ${paint.green(`+${added}`)} ${paint.red(`-${removed}`)}${by}`;
    }),
  ];
}

/** What to type next. */
export function nextLines({ folder, store }: Workspace, { program }: Pick<Io, 'program'>): readonly string[] {
  const again = shellWord(join(dirname(folder), 'again'));
  return [
    '',
    'Next:',
    `  export TELLTALE_STORE=${shellWord(store)}`,
    `  ${program} logs last      # every event of this run, with its time`,
    `  ${program} show last      # the state of the session`,
    `  ${program} workflow       # the workflow runs that it triggered`,
    `  ${program} replay last    # watch the run again, event by event`,
    `  ${program} --help         # all other commands`,
    '',
    'You can stop it at any time, even with kill -9, and resume it:',
    `  ${program} demo --dir ${again}`,
    `  ${program} resume last --store ${again}/demo.db`,
    '',
    `The workspace of this run stays until you delete it: rm -r ${shellWord(folder)}`,
  ];
}

/** How to go on with a demo that was stopped. */
export const resumeLines = ({ store }: Workspace, { program }: Pick<Io, 'program'>): readonly string[] => [
  'Stopped. Everything up to here is on the log. To continue:',
  `  ${program} resume last --store ${shellWord(store)}`,
];

const shellWord = (path: string): string =>
  /^[\w./:@-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
