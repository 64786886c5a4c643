import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { hasEnded } from '../../agent/ending/has-ended.ts';
import { postToRun } from '../../agent/runs/run-inbox.ts';
import { RUN_SIGNAL } from '../../agent/runs/run-messages.ts';
import type { LoadedWorkflow, RunOptions } from '../../agent/runs/run-types.ts';
import { createSystemClock } from '../../lib/clock.ts';
import { RuntimeError } from '../../lib/errors.ts';
import { reportUnusedEdits } from '../artifact/report-unused-edits.ts';
import { type CommandContext, EXIT, type ExitCode } from '../command.ts';
import { usage } from '../options.ts';
import { readObject } from '../parse/read-text.ts';
import { signerFor } from '../program.ts';
import { runMode } from '../run/run-mode.ts';
import { readVars } from '../run/run-options.ts';
import { findRun, streamToResume } from '../session/find-session.ts';
import { storeFlag } from '../session/store-options.ts';
import { openEarly, withStoredSessions } from '../session/with-runtime.ts';
import { checkedManifests } from '../validate/print-result.ts';
import { jsonText } from '../view/json-text.ts';
import { type WorkRunOptions, workRun } from './work-run.ts';

export interface WorkflowRunOptions extends WorkRunOptions {
  readonly input?: string;
  readonly var: readonly string[];
  readonly agent?: string;
  readonly id?: string;
}

/** `telltale workflow run`. */
export async function runWorkflow(
  manifest: string,
  name: string | undefined,
  options: WorkflowRunOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { io } = context;
  runMode(options, io);
  const vars = readVars(options.var);
  const input = options.input === undefined ? undefined : await readObject('--input', options.input, io);
  const start: RunOptions = {
    ...(input === undefined ? {} : { input }),
    ...(options.var.length === 0 ? {} : { vars }),
    ...(options.id === undefined ? {} : { id: checkedId(options.id) }),
    ...(options.wait === true ? { onWaiting: 'hold' } : {}),
  };
  const early = openEarly(context, options);
  await early?.begun;
  try {
    const workflow = await loadForWorkflow(manifest, name, options, context);
    if (workflow === undefined) return EXIT.usage;
    const work = early === undefined ? options : { ...options, early };
    return await workRun(context, work, async ({ workflows, store }) => {
      await reportUnusedEdits([workflow.agent], store, io, options);
      return { run: workflows.start(workflow, start), seen: 0 };
    });
  } finally {
    await early?.close();
  }
}

/** If the manifest is invalid, prints every mistake as `telltale validate` does and returns undefined. */
async function loadForWorkflow(
  path: string,
  workflow: string | undefined,
  options: Pick<WorkflowRunOptions, 'json' | 'agent'>,
  { io, runtimes }: CommandContext,
): Promise<LoadedWorkflow | undefined> {
  const { env, cwd, signal } = io;
  if (statSync(resolve(cwd, path), { throwIfNoEntry: false })?.isDirectory() === true)
    throw folderGiven(path);
  try {
    return await runtimes.loadWorkflow(path, {
      env,
      cwd,
      ...(workflow === undefined ? {} : { workflow }),
      ...(options.agent === undefined ? {} : { agent: options.agent }),
    });
  } catch (thrown) {
    signal.throwIfAborted();
    if (thrown instanceof RuntimeError && thrown.code === 'no_agent') throw noAgent(path);
    if ((await checkedManifests(path, io, options)) !== undefined) throw thrown;
    return undefined;
  }
}

const noAgent = (path: string) =>
  new RuntimeError('no_agent', `'${path}' contains no Agent. A workflow always runs for an agent.`, {
    hint: 'Name the manifest of an agent that imports the workflow, with "import: { workflows: [FILE] }".',
  });

const folderGiven = (path: string) =>
  usage(
    `'${path}' is a folder.`,
    `Name the agent's manifest in it: telltale workflow run ${join(path, 'agent.yml')} WORKFLOW`,
  );

/** An id that other commands accept as it is, and that is not one of their keywords. */
const ID = /^\w[\w.:@-]{0,99}$/;

function checkedId(id: string): string {
  if (ID.test(id) && id !== 'last') return id;
  throw usage(
    `--id '${id}' is not a valid run id.`,
    'Write up to 100 letters, digits and . _ : @ -, beginning with a letter or digit. "last" is reserved.',
  );
}

export interface SignalOptions {
  readonly store?: string;
  readonly from?: string;
  readonly json?: true;
}

/** `telltale workflow signal`: sends an event for a `wait` step to the run's inbox. */
export async function signalRun(
  asked: string,
  event: string,
  given: string | undefined,
  options: SignalOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { io } = context;
  const data = given === undefined ? {} : await readObject('DATA', given, io);
  return withStoredSessions(context, options, async ({ store }) => {
    const info = await findRun(store, asked);
    const { stream, status } = info;
    if (hasEnded(status)) throw ended(stream, status);
    const message = { kind: RUN_SIGNAL, from: signerFor(options.from, '--from'), body: { event, data } };
    await postToRun({ store, clock: createSystemClock() }, stream, message);
    const pid = (await store.info(stream))?.owner?.pid;
    const json = { run: stream, event, outcome: pid === undefined ? 'kept' : 'delivered', pid: pid ?? null };
    const text =
      pid === undefined
        ? `The signal is kept for ${stream}. A process that waits with --wait continues by itself. Otherwise, continue with:\n  ${await streamToResume(store, info, io)}${storeFlag(options.store)}\n`
        : `Delivered to process ${pid}, which works on ${stream}.\n`;
    await io.stdout.write(options.json === true ? jsonText(json, 2) : text);
    return EXIT.ok;
  });
}

const ended = (run: string, status: string) =>
  new RuntimeError('run_ended', `${run} has ended (${status}): nothing waits there.`, {
    hint: 'See those that wait: telltale workflow list --status waiting',
  });
