import type { Clock } from '../../kernel/clock.ts';
import { toRuntimeError } from '../../kernel/runtime-error.ts';
import { commandFailed } from '../../targets/process/process-errors.ts';
import type { EndedProcess } from '../../targets/process/process-request.ts';
import { runProcess } from '../../targets/process/run-process.ts';
import { clip } from './clip.ts';
import { type Delivered, type Parcel, timed } from './delivery.ts';
import { payloadOf } from './outbox-row.ts';

export interface CommandChannel {
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

const TIMEOUT_MS = 30_000;
const GRACE_MS = 2_000;
const MAX_OUTPUT_BYTES = 4_096;
const MAX_DRAINED_BYTES = 64 * 1024 * 1024;
const MAX_ERROR = 500;

export interface Program {
  readonly what: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin?: string;
}

/** Runs a program to its end, without a shell. */
export async function runProgram(clock: Clock, program: Program, signal: AbortSignal): Promise<Delivered> {
  const { late, value, thrown } = await timed<EndedProcess>(clock, TIMEOUT_MS, signal, (until) =>
    runProcess(
      { ...program, signal: until, maxBytes: MAX_OUTPUT_BYTES },
      { clock, graceMs: GRACE_MS, maxDrainedBytes: MAX_DRAINED_BYTES },
    ),
  );
  if (value?.exitCode === 0) return { kind: 'sent' };
  if (late) return { kind: 'failed', error: `It took more than ${TIMEOUT_MS / 1_000} s, and was stopped.` };
  const error = value === undefined ? toRuntimeError(thrown) : commandFailed(program.what, value);
  const isHopeless = error.code === 'command_missing' || error.code === 'folder_missing';
  const said = [error.message, error.hint ?? ''].join(' ').trim();
  return { kind: isHopeless ? 'final' : 'failed', error: clip(said, MAX_ERROR) };
}

/** An argument stays one argument, whatever is filled in. */
export function runChannelCommand(
  clock: Clock,
  { command, cwd, env }: CommandChannel,
  { row, url, signal }: Parcel,
): Promise<Delivered> {
  const [program = '', ...args] = command;
  const values: Readonly<Record<string, string>> = {
    message: row.message,
    type: row.about,
    agent: row.agent,
    id: row.id,
    url: url ?? '',
    session: row.of === 'session' ? row.stream : '',
    run: row.of === 'run' ? row.stream : '',
  };
  const fill = (text: string) =>
    text.replace(/\{([a-z]+)\}/g, (written, name: string) => values[name] ?? written).replaceAll('\0', ' ');
  return runProgram(
    clock,
    {
      program,
      cwd,
      env,
      args: args.map(fill),
      what: `channel "${row.channel}"`,
      stdin: JSON.stringify(payloadOf(row, url)),
    },
    signal,
  );
}
