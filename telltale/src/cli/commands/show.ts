import { Option } from 'commander';
import { runsOf } from '../../agent/ending/cancel-unowned.ts';
import { eventUnknown, readLog } from '../../agent/log/read-log.ts';
import { readRun } from '../../engine/read-run.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';
import { newestOf } from '../../log/action.ts';
import type { RunState } from '../../log/run-state.ts';
import type { SessionState } from '../../log/state.ts';
import { showResult } from '../../prompt/show-result.ts';
import { type CommandContext, EXIT, type ExitCode, type RegisterCommand } from '../command.ts';
import { type Io, paletteFor } from '../io.ts';
import { wholeNumber } from '../options.ts';
import { findStream, STREAM_HELP } from '../session/find-session.ts';
import { showRun, statusNow } from '../session/show-run.ts';
import { addStoreOption } from '../session/store-options.ts';
import { withStoredSessions } from '../session/with-runtime.ts';
import { jsonText } from '../view/json-text.ts';
import { resultText } from '../view/note-line.ts';
import { stateJson, stateLines, statesText } from '../view/state-lines.ts';

interface CommandShowOptions {
  readonly store?: string;
  readonly seq?: string;
  readonly json?: true;
  readonly states?: true;
  readonly action?: string;
  readonly result?: true;
}

const DEFAULT_COLUMNS = 100;

const EXAMPLES = `
${STREAM_HELP}

Examples:
  $ telltale show last
  $ telltale show last --seq 12                  the state after event 12
  $ telltale show last --json | jq .metadata
  $ telltale show last --action read             the whole result of this action
  $ telltale show last --states                  time, turns and tokens by what the agent said it was doing
`;

export const registerShow: RegisterCommand = (program, context) => {
  addStoreOption(program.command('show'))
    .summary('show the state of a session, now or after any event')
    .description(
      'Shows the state of a session (status, metadata, variables, actions, workflows, last response) or of a workflow run (status, states, steps).',
    )
    .argument('<session>', 'which one')
    .option('--seq <n>', 'the state after event n instead of the latest')
    .option('--states', 'time and tokens spent in each metadata state, and when it changed')
    .addOption(
      new Option('--action <id>', 'the whole result of one action, or of one step of a run').conflicts([
        'states',
        'result',
      ]),
    )
    .addOption(
      new Option('--result', 'the whole result of the session, or the output of the run').conflicts([
        'states',
        'action',
      ]),
    )
    .option('--json', 'print it as JSON')
    .addHelpText('after', EXAMPLES)
    .action(context.run((session: string, options: CommandShowOptions) => show(session, options, context)));
};

async function show(asked: string, options: CommandShowOptions, context: CommandContext): Promise<ExitCode> {
  const { stdout } = context.io;
  const seq = options.seq === undefined ? undefined : wholeNumber('--seq', options.seq);
  return withStoredSessions(context, options, async (runtime) => {
    const info = await findStream(runtime.store, asked);
    if (info.kind === 'run') {
      if (options.action !== undefined || options.result === true) {
        const state = await readRun(runtime.store, info.stream, seq);
        await stdout.write(wholeText(wantedOfRun(state, options), options, stdout));
        return EXIT.ok;
      }
      await showRun(runtime.store, info, context.io, { seq, json: options.json });
      return EXIT.ok;
    }
    if (seq !== undefined && seq > info.head) throw eventUnknown(info.stream, seq, info.head);
    if (options.states === true) {
      const events = readLog(runtime.store, info.stream, seq === undefined ? {} : { to: seq });
      await stdout.write(await statesText(events, options, stdout));
      return EXIT.ok;
    }
    const state = await runtime.state(info.stream, seq);
    if (options.action !== undefined || options.result === true) {
      await stdout.write(wholeText(wantedOf(state, options), options, stdout));
      return EXIT.ok;
    }
    const isNow = state.seq >= info.head;
    const runs = isNow ? await runsOf(runtime.store, info.stream) : [];
    const told = isNow ? await statusNow(runtime.store, info, context.io) : { status: state.status };
    const text =
      options.json === true
        ? jsonText(stateJson(state, { ...told, runs }), 2)
        : `${stateLines(state, { ...told, runs, columns: stdout.columns ?? DEFAULT_COLUMNS, paint: paletteFor(stdout) }).join('\n')}\n`;
    await stdout.write(text);
    return EXIT.ok;
  });
}

/** The value that an option names, and its text for people. */
function wantedOf(
  state: SessionState,
  { action: asked }: CommandShowOptions,
): { value: Json; text?: string } {
  if (asked === undefined) {
    const value = state.result ?? state.thread?.answer?.text ?? state.response?.text;
    if (value === undefined) throw noResult(`${state.id} has no result yet.`);
    return { value };
  }
  const known = state.actions.get(asked) ?? state.actions.get(newestOf(state, asked));
  if (known === undefined) throw actionUnknown(asked, [...state.actions.keys()]);
  const { output, error } = known;
  const value = output ?? error?.output ?? null;
  if (value === null) throw noResult(`The action "${asked}" has no result: it is ${known.status}.`);
  const { text } = showResult(known);
  return text === JSON.stringify(value) ? { value } : { value, text };
}

function wholeText(
  { value, text }: { readonly value: Json; readonly text?: string },
  { json }: CommandShowOptions,
  stdout: Io['stdout'],
): string {
  return json === true ? jsonText(value, 2) : resultText(text ?? value, stdout);
}

/** The same for a workflow run, where a step takes the place of an action. */
function wantedOfRun(state: RunState, { action: asked }: CommandShowOptions): { value: Json; text?: string } {
  if (asked === undefined) {
    if (state.output === undefined) throw noResult(`${state.id} has no output yet.`);
    return { value: state.output };
  }
  const known = state.steps.get(asked);
  if (known === undefined) throw actionUnknown(asked, [...state.steps.keys()]);
  const { output = null } = known;
  if (output === null) throw noResult(`The step "${asked}" has no result: it is ${known.status}.`);
  const { text } = showResult({
    action: { id: asked, kind: 'tool', mode: 'async', name: '', parameters: {} },
    output,
    turn: 0,
    status: 'completed',
    attempts: 1,
  });
  return text === JSON.stringify(output) ? { value: output } : { value: output, text };
}

const noResult = (message: string) =>
  new RuntimeError('no_result', message, { hint: 'To see what it did: telltale show last' });

const actionUnknown = (asked: string, known: readonly string[]) =>
  new RuntimeError('action_unknown', `There is no action or step "${asked}".`, {
    hint: known.length === 0 ? 'It has not started any.' : suggest(asked, known.slice(-20), 'Its last ones'),
  });
