import { join } from 'node:path';
import type { Session } from '../../session/runtime-types.ts';
import { paletteFor } from '../colour.ts';
import type { CommandContext } from '../command.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import type { Io } from '../io.ts';
import { awaitRuns, watchTriggered } from '../run/await-runs.ts';
import { conclude } from '../run/conclude.ts';
import { createRunView } from '../run/create-run-view.ts';
import { type Followed, followSession } from '../run/follow-session.ts';
import { isLost } from '../run/is-lost.ts';
import { loadForRun } from '../run/load-for-run.ts';
import { outputLost, type Unshown } from '../run/output-lost.ts';
import type { RunMode } from '../run/run-mode.ts';
import type { RunView } from '../run/run-view.ts';
import { createTerminalView } from '../run/terminal-view.ts';
import { storeFlag } from '../session/store-location.ts';
import { withRuntime } from '../session/with-runtime.ts';
import { changedByWorkflows } from './changed-by-workflows.ts';
import { changedFiles } from './changed-files.ts';
import { closingLines, nextLines, openingLines, resumeLines } from './demo-lines.ts';
import { makeRepository } from './make-repository.ts';
import { makeWorkspace } from './make-workspace.ts';
import { nodeOnPath } from './node-on-path.ts';
import { pacedModel } from './paced-model.ts';
import { readTemplate } from './template.ts';

export interface DemoOptions {
  readonly mode: RunMode;
  /** Tokens a second; the script's own on a terminal by default, and all at once elsewhere. */
  readonly rate: number | undefined;
  readonly dir: string | undefined;
}

const INPUT = 'Add a --json flag to the report command';
const DEFAULT_COLUMNS = 80;
const MAX_COLUMNS = 100;

/** Lays the demo's project out, lets the agent work on it, and says what came of it and what to type next. */
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
  let followed: Followed | undefined;
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
    // A store that was lost can be neither looked at nor closed: what it was lost by is what there is to tell.
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

/** The view of `telltale run`, without its last lines: the demo has its own. */
async function demoView(mode: RunMode, io: Io): Promise<RunView> {
  if (mode === 'live') {
    const view = createTerminalView(io);
    return { ...view, end: () => view.leave() };
  }
  const view = await createRunView(mode, io);
  return mode === 'plain' ? { ...view, end: async () => {} } : view;
}
