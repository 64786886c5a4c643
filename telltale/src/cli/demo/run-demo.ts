import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { LoadedAgent } from '../../agent/loaded-agent.ts';
import type { Runtime, Session } from '../../agent/runtime-types.ts';
import { readRunEvents } from '../../engine/read-run.ts';
import type { Clock } from '../../lib/clock.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json } from '../../lib/json.ts';
import { timeSavedText } from '../../log/time-saved.ts';
import { makeFolder } from '../../manifest/files.ts';
import type { Palette } from '../../manifest/format-diagnostic.ts';
import type { Model } from '../../models/model.ts';
import { loadScript } from '../../models/scripted/load-script.ts';
import { createScriptedModel } from '../../models/scripted/scripted-model.ts';
import { type CommandContext, EXIT, type ExitCode } from '../command.ts';
import { type Io, paletteFor } from '../io.ts';
import { usage } from '../options.ts';
import { awaitRuns, watchTriggered } from '../run/await-runs.ts';
import { conclude, isLost, outputLost, type Unshown } from '../run/conclude.ts';
import { createRunView } from '../run/create-run-view.ts';
import { type FollowedSession, followSession } from '../run/follow-session.ts';
import type { RunMode } from '../run/run-mode.ts';
import type { RunView } from '../run/run-view.ts';
import { createTerminalView } from '../run/terminal-view.ts';
import { loadForRun } from '../run/with-agent.ts';
import { storeFlag } from '../session/store-options.ts';
import { withRuntime } from '../session/with-runtime.ts';
import { countText, spanText } from '../view/figures.ts';
import { wrap } from '../view/text-width.ts';

export interface DemoOptions {
  readonly mode: RunMode;
  /** Tokens per second. By default the script's own rate on a terminal, and no delay elsewhere. */
  readonly rate: number | undefined;
  readonly dir: string | undefined;
}

const INPUT = 'Add a --json flag to the report command';
const DEFAULT_COLUMNS = 80;
const MAX_COLUMNS = 100;

/** Creates the demo's project, runs the agent on it, and prints the outcome and the next commands. */
export async function runDemo(
  options: DemoOptions,
  context: Pick<CommandContext, 'io' | 'runtimes'>,
): Promise<ExitCode> {
  let unshown: Unshown | undefined;
  try {
    return await workAndShow(options, context, ({ id, result }, flag) => {
      const { program } = context.io;
      const commands = { show: `${program} show ${id}${flag}`, resume: `${program} resume ${id}${flag}` };
      unshown = { kind: 'session', result, commands };
    });
  } catch (thrown) {
    throw await outputLost(thrown, context.io, unshown);
  }
}

async function workAndShow(
  { mode, rate, dir }: DemoOptions,
  { io, runtimes }: Pick<CommandContext, 'io' | 'runtimes'>,
  onBegun: (session: Session, storeFlag: string) => void,
): Promise<ExitCode> {
  const { stdout, clock } = io;
  const isShown = mode === 'live' || mode === 'plain';
  const isPaced = rate !== undefined || stdout.isTerminal;
  const look = {
    columns: Math.min(stdout.columns ?? DEFAULT_COLUMNS, MAX_COLUMNS) - 1,
    paint: paletteFor(stdout),
  };
  const print = (lines: readonly string[]) => (isShown ? stdout.write(`${lines.join('\n')}\n`) : undefined);

  const files = await readTemplate();
  const workspace = await makeWorkspace(files, dir, io);
  await print(openingLines(workspace, INPUT, look));
  const context = { io: { ...io, env: nodeOnPath(io.env, process.execPath) }, runtimes };
  const git = await makeRepository(join(workspace.folder, 'project'), context.io.env);
  const agent = await loadForRun(workspace.manifest, context, mode === 'json' ? { json: true } : {});
  if (agent === undefined) return EXIT.usage;
  const model = isPaced && rate === undefined ? undefined : await pacedModel(agent, rate, clock);
  const view = await demoView(mode, io);
  const flag = storeFlag(workspace.store);
  let followed: FollowedSession | undefined;
  let byWorkflow: ReadonlyMap<string, string> = new Map();
  try {
    await withRuntime(context, { store: workspace.store }, async (runtime) => {
      const start = { input: INPUT, vars: { git }, ...(model === undefined ? {} : { model }) };
      const triggered = watchTriggered(runtime);
      const session = runtime.start(agent, start);
      onBegun(session, flag);
      followed = await followSession(session, io, { view, seen: 0 });
      const { result, runs } = followed;
      if (result.status !== 'interrupted')
        await awaitRuns(runtime, result.session, runs, triggered, io, { mode, storeFlag: flag });
      triggered.stop();
      byWorkflow = await changedByWorkflows(runtime, result.session);
    });
  } catch (thrown) {
    // If the store was lost it cannot be closed either. Report the loss, not the failed close.
    if (followed === undefined || !isLost(followed.result)) throw thrown;
  }
  if (followed === undefined) return EXIT.failed;

  const { result } = followed;
  if (result.status === 'interrupted' && !isLost(result) && isShown && !followed.unread) {
    await io.stderr.write(`${resumeLines(workspace, io).join('\n')}\n`);
    return EXIT.interrupted;
  }
  const code = await conclude(followed, io, { mode, storeFlag: flag });
  if (result.status === 'completed')
    await print([
      ...closingLines(followed, await changedFiles(files, workspace.folder), byWorkflow, isPaced, look),
      ...nextLines(workspace, io),
    ]);
  return code;
}

/** The view of `telltale run` without its closing lines, because the demo prints its own. */
async function demoView(mode: RunMode, io: Io): Promise<RunView> {
  if (mode === 'live') {
    const view = createTerminalView(io);
    return { ...view, end: () => view.leave() };
  }
  const view = await createRunView(mode, io);
  return mode === 'plain' ? { ...view, end: async () => {} } : view;
}

type DemoEnv = Readonly<Record<string, string | undefined>>;

/** Puts this Node first on the PATH, because commands of the demo run `node`. */
export function nodeOnPath(env: DemoEnv, execPath: string): DemoEnv {
  // On Windows, names of variables are not case-sensitive.
  const name = Object.keys(env).find((each) => each.toUpperCase() === 'PATH') ?? 'PATH';
  return { ...env, [name]: [dirname(execPath), env[name]].filter((part) => part).join(delimiter) };
}

const GIT_MS = 10_000;

/** Makes the folder a git repository with its files staged. False if git is missing or fails. */
export async function makeRepository(
  folder: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<boolean> {
  // Inside a git hook, git's variables name the hook's repository.
  const own = Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('GIT_')));
  const git = (...args: readonly string[]) =>
    promisify(execFile)('git', [...args], { cwd: folder, env: own, timeout: GIT_MS });
  try {
    await git('init', '--quiet', '--template=');
    await git('add', '--all');
    return true;
  } catch {
    return false; // The demo then shows one action less.
  }
}

const SCRIPTED = 'scripted:';

/** The scripted model of an agent at another rate; without a rate, everything arrives at once. */
export async function pacedModel(
  { manifest, folder }: Pick<LoadedAgent, 'manifest' | 'folder'>,
  tokensPerSecond: number | undefined,
  clock: Clock,
): Promise<Model> {
  const id = manifest.model ?? SCRIPTED;
  const { turns, tokensPerSecond: _, ...script } = await loadScript(id.slice(SCRIPTED.length), folder);
  return createScriptedModel({
    ...script,
    turns: turns.map(({ tokensPerSecond: _, ...turn }) => turn),
    ...(tokensPerSecond === undefined ? {} : { tokensPerSecond }),
    id,
    clock,
  });
}

const MAX_RUNS = 100;

/** Which workflow of a session changed each file, by path, according to the results of the tool "filesystem". */
async function changedByWorkflows(
  { store }: Pick<Runtime, 'store'>,
  session: string,
): Promise<ReadonlyMap<string, string>> {
  const changed = new Map<string, string>();
  for (const { stream, name, parent } of await store.list({ kind: 'run', limit: MAX_RUNS })) {
    if (parent !== session) continue;
    for (const event of await readRunEvents(store, stream)) {
      const path = event.type === 'step.completed' ? pathIn(event.output) : undefined;
      if (path !== undefined) changed.set(path, name);
    }
  }
  return changed;
}

function pathIn(output: Json): string | undefined {
  if (typeof output !== 'object' || output === null || Array.isArray(output)) return undefined;
  const { path } = output as { readonly path?: Json };
  return typeof path === 'string' ? path : undefined;
}

export interface DemoLines {
  readonly columns: number;
  readonly paint: Palette;
}

function openingLines({ folder }: DemoWorkspace, input: string, { columns, paint }: DemoLines) {
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

/** How the demo ended, what it took, and the time saved. */
function closingLines(
  { result, times }: Pick<FollowedSession, 'result' | 'times'>,
  changed: readonly ChangedFile[],
  /** Which workflow changed a file, by path. */
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

/** The commands to try next. */
export function nextLines(
  { folder, store }: DemoWorkspace,
  { program }: Pick<Io, 'program'>,
): readonly string[] {
  const again = shellWord(join(dirname(folder), 'again'));
  return [
    '',
    'Next:',
    `  export TELLTALE_STORE=${shellWord(store)}`,
    `  ${program} logs last      # every event of this run, with its time`,
    `  ${program} show last      # the state of the session`,
    `  ${program} workflow       # the workflow runs that it triggered`,
    `  ${program} replay last    # watch the run again, event by event`,
    `  ${program} help all       # all commands`,
    '',
    'You can stop it at any time, even with kill -9, and resume it:',
    `  ${program} demo --dir ${again}`,
    `  ${program} resume last --store ${again}/demo.db`,
    '',
    `The workspace of this run stays until you delete it: rm -r ${shellWord(folder)}`,
  ];
}

/** How to continue a demo that was stopped. */
export const resumeLines = (
  { store }: DemoWorkspace,
  { program }: Pick<Io, 'program'>,
): readonly string[] => [
  'Stopped. Everything up to here is on the log. To continue:',
  `  ${program} resume last --store ${shellWord(store)}`,
];

const shellWord = (path: string): string =>
  /^[\w./:@-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;

export interface ChangedFile {
  readonly path: string;
  readonly added: number;
  readonly removed: number;
}

/** The template's files that have changed, with the number of changed lines. It reads the disk, not the log. */
async function changedFiles(files: readonly TemplateFile[], folder: string): Promise<readonly ChangedFile[]> {
  const changed: ChangedFile[] = [];
  for (const { path, text } of files) {
    const now = await readFile(join(folder, path), 'utf8').catch(() => ''); // A missing file has lost all of its lines.
    if (now !== text) changed.push({ path, ...countLines(text, now) });
  }
  return changed;
}

/** Uses the longest common subsequence of lines. This is quadratic, which is fine for a demo's files. */
export function countLines(before: string, after: string): Pick<ChangedFile, 'added' | 'removed'> {
  const old = linesOf(before);
  const fresh = linesOf(after);
  let row = new Array<number>(fresh.length + 1).fill(0);
  for (const line of old) {
    const next = [0];
    for (const [at, other] of fresh.entries())
      next.push(line === other ? (row[at] ?? 0) + 1 : Math.max(row[at + 1] ?? 0, next[at] ?? 0));
    row = next;
  }
  const kept = row.at(-1) ?? 0;
  return { added: fresh.length - kept, removed: old.length - kept };
}

const linesOf = (text: string): readonly string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));

export interface DemoWorkspace {
  readonly folder: string;
  readonly manifest: string;
  /** The file with the demo's log. */
  readonly store: string;
}

/**
 * Writes the template to `dir` or to a temporary folder. It does not copy the files: if the package is installed
 * read-only, the copies would be read-only too, and the agent could not edit them.
 */
export async function makeWorkspace(
  files: readonly TemplateFile[],
  dir: string | undefined,
  { cwd }: Pick<Io, 'cwd'>,
): Promise<DemoWorkspace> {
  const asked = dir === undefined ? join(tmpdir(), 'telltale-demo-') : resolve(cwd, dir);
  try {
    const folder = await realpath(dir === undefined ? await mkdtemp(asked) : await emptyFolder(asked, dir));
    for (const { path, text } of files) {
      const file = join(folder, path);
      await makeFolder(dirname(file));
      await writeFile(file, text);
    }
    return {
      folder,
      manifest: join(folder, 'agent.yml'),
      store: join(folder, 'demo.db'),
    };
  } catch (thrown) {
    if (thrown instanceof Error && 'syscall' in thrown)
      throw cannotLayOut(dir === undefined ? tmpdir() : asked, thrown as NodeJS.ErrnoException);
    throw thrown;
  }
}

async function emptyFolder(folder: string, asked: string): Promise<string> {
  const found = await readdir(folder).catch((thrown: NodeJS.ErrnoException) => thrown);
  if (Array.isArray(found) && found.length > 0) throw notEmpty(asked);
  if (found instanceof Error && found.code === 'ENOTDIR') throw notAFolder(asked);
  // Does not create parent folders: a mistyped path should not create any, and in /proc Node would retry forever.
  if (!Array.isArray(found)) await mkdir(folder);
  return folder;
}

/** The package's folder with the demo's agent, its script, its tools and its project. */
const TEMPLATE = fileURLToPath(new URL('../../../transcripts/coding', import.meta.url));

export interface TemplateFile {
  /** Relative to the template, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

/** The files of the template, by path. */
export async function readTemplate(folder: string = TEMPLATE): Promise<readonly TemplateFile[]> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const paths = entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
    return await Promise.all(
      paths.sort().map(async (path) => ({
        path: relative(folder, path).split(sep).join('/'),
        text: await readFile(path, 'utf8'),
      })),
    );
  } catch (thrown) {
    throw filesMissing(folder, thrown as NodeJS.ErrnoException);
  }
}

const filesMissing = (template: string, cause: NodeJS.ErrnoException) =>
  new RuntimeError(
    'demo_missing',
    `The files of the demo cannot be read at ${template} (${reason(cause)}).`,
    {
      hint: 'Reinstall the package; in a clone: git checkout -- telltale/transcripts',
      cause,
    },
  );

const cannotLayOut = (folder: string, cause: NodeJS.ErrnoException) =>
  new RuntimeError('cannot_write', `Cannot create the demo in ${folder} (${reason(cause)}).`, {
    hint:
      cause.code === 'ENOSPC'
        ? 'The disk is full: free some space, or name a folder on another one with --dir.'
        : 'Name a folder that you may write to: --dir DIR.',
    cause,
  });

const notEmpty = (dir: string) =>
  usage(`--dir '${dir}' is not empty.`, 'Name a new or empty folder: the demo overwrites nothing.');

const notAFolder = (dir: string) => usage(`--dir '${dir}' is not a folder.`, 'Name a new or empty folder.');

const reason = ({ code, message }: NodeJS.ErrnoException) => code ?? message;
