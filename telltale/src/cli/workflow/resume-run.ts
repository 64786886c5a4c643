import type { ResumeRunOptions, Workflows } from '../../agent/runs/run-types.ts';
import type { Json } from '../../lib/json.ts';
import type { StepDecision } from '../../log/run-event.ts';
import type { ChangeDecisions, StepChange, WorkflowChanges } from '../../log/run-state.ts';
import { type CommandContext, EXIT, type ExitCode } from '../command.ts';
import { type Io, type Output, paletteFor } from '../io.ts';
import { usage } from '../options.ts';
import { signer } from '../program.ts';
import { runMode } from '../run/run-mode.ts';
import { findRun } from '../session/find-session.ts';
import { openEarly, requireStore, withRuntime } from '../session/with-runtime.ts';
import { harmlessLine as safe } from '../view/harmless.ts';
import { jsonText } from '../view/json-text.ts';
import { padded } from '../view/text-width.ts';
import { type WorkRunOptions, workRun } from './work-run.ts';

export interface WorkflowResumeOptions extends WorkRunOptions, ChangeOptions {}

/** `telltale workflow resume`: continues at the end of the log, and shows what is new. */
export async function resumeRun(
  asked: string,
  options: WorkflowResumeOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { io } = context;
  const mode = runMode(options, io);
  const given = changeDecisions(options);
  requireStore(options, io);
  if (options.dryRun === true) return previewChanges(asked, options, context);
  const isShown = mode === 'live' || mode === 'plain';
  const early = openEarly(context, { ...options, mustExist: true });
  try {
    return await workRun(context, { ...options, ...(early && { early }) }, async ({ workflows, store }) => {
      const { stream, head } = await findRun(store, asked);
      const decided = given && (await decideChanges({ workflows, run: stream, io }, given, isShown));
      const isPlain = Object.keys({ ...decided?.decide, ...decided?.run_new }).length === 0;
      const chosen: ResumeRunOptions = {
        by: signer(),
        ...(decided === undefined ? {} : { acceptChanges: isPlain ? true : decided }),
        ...(options.wait === true ? { onWaiting: 'hold' } : {}),
      };
      return { run: await workflows.resume(stream, chosen), seen: head };
    });
  } finally {
    await early?.close();
  }
}

/** `--dry-run`: what the current workflow means for the run. It writes nothing. */
function previewChanges(
  asked: string,
  options: WorkflowResumeOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { stdout } = context.io;
  const store = options.store === undefined ? {} : { store: options.store };
  return withRuntime(context, store, async (runtime) => {
    const { stream } = await findRun(runtime.store, asked);
    const accept = changeDecisions(options);
    const changes = await runtime.workflows.changes(
      stream,
      accept === undefined ? {} : { acceptChanges: accept },
    );
    if (options.json === true) await stdout.write(`${jsonText(changes)}\n`);
    else await showChanges(changes, stdout);
    return EXIT.ok;
  });
}

export interface ChangeOptions {
  readonly acceptChanges?: true;
  /** `STEP=rerun`, `STEP=skip`, `STEP=skip:JSON` or `STEP=fail`. */
  readonly decide?: readonly string[];
  readonly runNew?: readonly string[];
  readonly dryRun?: true;
}

/** The decisions from the command line. Undefined without `--accept-changes`. */
function changeDecisions(options: ChangeOptions): ChangeDecisions | undefined {
  const { acceptChanges, decide = [], runNew = [], dryRun } = options;
  if (acceptChanges === undefined) {
    const [flag] = [
      ...(decide.length > 0 ? ['--decide'] : []),
      ...(runNew.length > 0 ? ['--run-new'] : []),
      ...(dryRun === undefined ? [] : ['--dry-run']),
    ];
    if (flag !== undefined) throw usage(`'${flag}' needs --accept-changes.`, 'Add --accept-changes.');
    return undefined;
  }
  const decisions = decide.map(decisionOf);
  const steps = decisions.map(([step]) => step);
  const twice = steps.find((step, index) => steps.indexOf(step) < index);
  if (twice !== undefined)
    throw usage(`'--decide' is given twice for the step "${twice}".`, 'Decide about each step once.');
  return { decide: Object.fromEntries(decisions), run_new: runNew };
}

function decisionOf(text: string): readonly [string, StepDecision | { readonly skip: Json }] {
  const [, step = '', as, output] = /^([^=]+)=(rerun|skip|fail)(?::(.*))?$/s.exec(text) ?? [];
  if (as === undefined || (output !== undefined && as !== 'skip')) throw badDecision(text);
  if (output === undefined) return [step, as as StepDecision];
  try {
    return [step, { skip: JSON.parse(output) as Json }];
  } catch {
    throw badDecision(text);
  }
}

const badDecision = (text: string) =>
  usage(
    `'--decide' cannot be '${text}'.`,
    'Write STEP=rerun, STEP=skip, STEP=fail, or STEP=skip:JSON with the output that it counts as having.',
  );

/** Shows what a changed workflow means for a run, and on a terminal asks about each undecided step. */
async function decideChanges(
  { workflows, run, io }: { readonly workflows: Workflows; readonly run: string; readonly io: Io },
  given: ChangeDecisions,
  isShown: boolean,
): Promise<ChangeDecisions> {
  const changes = await workflows.changes(run, { acceptChanges: given });
  if (!changes.changed) return given;
  const isAsked = io.stdin.isTerminal && io.stderr.isTerminal && changes.undecided.length > 0;
  if (isShown || isAsked) await showChanges(changes, io.stderr);
  if (!isAsked) return given;
  const decide: Record<string, StepDecision> = {};
  for (const step of changes.undecided) {
    const choices = changes.steps.find((each) => each.step === step)?.choices ?? [];
    const answer = await askAbout(step, choices, io);
    if (answer === undefined) break; // Undecided steps are refused.
    decide[step] = answer;
  }
  return { ...given, decide: { ...given.decide, ...decide } };
}

/** A line typed earlier was not an answer to this question. */
const TYPED_AHEAD_MS = 150;

async function askAbout(
  step: string,
  choices: readonly StepDecision[],
  { stdin, stderr, signal }: Io,
): Promise<StepDecision | undefined> {
  for (;;) {
    await stderr.write(`  ${safe(step)} may have taken effect. What now? [${choices.join('/')}] `);
    const line = await stdin.readLine(signal, TYPED_AHEAD_MS);
    if (line === undefined) {
      await stderr.write('\n');
      return undefined;
    }
    const found = choices.find((each) => each === line.trim().toLowerCase());
    if (found !== undefined) return found;
  }
}

const MARKS: Readonly<Record<StepChange['change'], string>> = {
  kept: '=',
  new: '+',
  gone: '-',
  in_doubt: '?',
};

/** One line per step: what the log says about it, and what will happen to it. */
async function showChanges(changes: WorkflowChanges, output: Output): Promise<void> {
  const { workflow, run, manifest, steps } = changes;
  if (!changes.changed) {
    await output.write(`${safe(workflow)} (${safe(run)}) has not changed: ${safe(manifest)}\n`);
    return;
  }
  const { dim, green, red, yellow } = paletteFor(output);
  const paint = { kept: dim, new: green, gone: red, in_doubt: yellow };
  const width = Math.max(...steps.map(({ step }) => safe(step).length));
  const states = Math.max(...steps.map(({ status = '' }) => status.length));
  const lines = steps.map(({ step, status = '', change, now, outcome }) => {
    const renamed = now === undefined ? '' : ` (now "${safe(now)}")`;
    return paint[change](
      `  ${MARKS[change]} ${padded(safe(step), width)}  ${padded(status, states)}  ${change.replace('_', ' ')}${renamed}: ${safe(outcome)}`,
    );
  });
  await output.write(
    `${safe(workflow)} (${safe(run)}) has changed: ${safe(manifest)}\n${lines.join('\n')}\n`,
  );
}
