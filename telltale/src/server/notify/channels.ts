import { createHmac } from 'node:crypto';
import { keyOf } from '../../agent/triggers/webhook.ts';
import type { Clock } from '../../lib/clock.ts';
import { parseHttpDate } from '../../lib/dates.ts';
import { toRuntimeError } from '../../lib/errors.ts';
import type { EndedProcess } from '../../tools/process/command-request.ts';
import { commandFailed } from '../../tools/process/command-request.ts';
import { runProcess } from '../../tools/process/run-process.ts';
import { type OutboxRow, payloadOf } from './outbox.ts';

export interface WebhookChannel {
  readonly url: string;
  readonly secret: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface WebhookDeps {
  readonly clock: Clock;
  readonly fetch: typeof globalThis.fetch;
}

const TIMEOUT_MS = 10_000;
/** The most characters quoted from an error response. */
const MAX_QUOTE = 200;
/** Temporary refusals: too slow, too early, too many. */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429]);

/**
 * Posts a notification, signed according to Standard Webhooks. Any URL in a manifest is allowed, even a private one,
 * because the author of the manifest can run commands anyway.
 */
export async function sendWebhook(
  { clock, fetch }: WebhookDeps,
  { url, secret, headers }: WebhookChannel,
  { row, url: page, signal }: Parcel,
): Promise<Delivered> {
  const body = JSON.stringify(payloadOf(row, page));
  const stamp = String(Math.floor(clock.now() / 1_000));
  const signature = createHmac('sha256', keyOf(secret)).update(`${row.id}.${stamp}.${body}`).digest('base64');
  const { late, value, thrown } = await timed(clock, TIMEOUT_MS, signal, async (until) => {
    const response = await fetch(url, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        ...headers,
        'content-type': 'application/json',
        'user-agent': 'telltale',
        'webhook-id': row.id,
        'webhook-timestamp': stamp,
        'webhook-signature': `v1,${signature}`,
      },
      body,
      signal: until,
    });
    return { response, said: await firstWords(response) };
  });
  if (value === undefined)
    return {
      kind: 'failed',
      error: late ? `No response within ${TIMEOUT_MS / 1_000} s.` : reasonOf(thrown),
    };
  return judge(value.response, value.said, clock.now());
}

function judge({ status, headers }: Response, said: string, now: number): Delivered {
  if (status >= 200 && status < 300) return { kind: 'sent' };
  const error = `The response was ${status}${said === '' ? '' : `: ${said}`}.`;
  if (status >= 500 || PASSING.has(status))
    return { kind: 'failed', error, afterMs: retryAfterMs(headers.get('retry-after'), now) };
  if (status >= 300 && status < 400)
    return { kind: 'final', error: `${error} Redirects are not followed. Use the final URL.` };
  return { kind: 'final', error };
}

/** Reads the beginning of an error response, and drops the rest. */
async function firstWords(response: Response): Promise<string> {
  if (response.body === null) return '';
  const reader = response.body.getReader();
  try {
    const { value } = response.ok ? {} : await reader.read();
    const text = value === undefined ? '' : new TextDecoder().decode(value.subarray(0, 4 * MAX_QUOTE));
    return clip(text.replace(/\s+/g, ' ').trim(), MAX_QUOTE);
  } finally {
    await reader.cancel();
  }
}

/** The message `fetch failed` says nothing, so its cause is used. */
function reasonOf(thrown: unknown): string {
  const { cause, message } = thrown as { readonly cause?: unknown; readonly message?: string };
  const inner = cause as { readonly message?: string; readonly code?: string } | undefined;
  return clip(inner?.message || inner?.code || message || String(thrown), MAX_QUOTE);
}

export interface CommandChannel {
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

const COMMAND_TIMEOUT_MS = 30_000;
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
  const { late, value, thrown } = await timed<EndedProcess>(clock, COMMAND_TIMEOUT_MS, signal, (until) =>
    runProcess(
      { ...program, signal: until, maxBytes: MAX_OUTPUT_BYTES },
      { clock, graceMs: GRACE_MS, maxDrainedBytes: MAX_DRAINED_BYTES },
    ),
  );
  if (value?.exitCode === 0) return { kind: 'sent' };
  if (late) return { kind: 'failed', error: `It was stopped after ${COMMAND_TIMEOUT_MS / 1_000} s.` };
  const error = value === undefined ? toRuntimeError(thrown) : commandFailed(program.what, value);
  const isHopeless = error.code === 'command_missing' || error.code === 'folder_missing';
  const said = [error.message, error.hint ?? ''].join(' ').trim();
  return { kind: isHopeless ? 'final' : 'failed', error: clip(said, MAX_ERROR) };
}

/** Runs a channel's command. Each argument stays one argument, whatever values are inserted. */
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

/** The result of an attempt. */
export type Delivered =
  | { readonly kind: 'sent' }
  /** A retry may help, at the earliest after `afterMs`. */
  | { readonly kind: 'failed'; readonly error: string; readonly afterMs?: number }
  | { readonly kind: 'final'; readonly error: string }
  /** The whole channel does not work on this machine. */
  | { readonly kind: 'unusable'; readonly error: string };

export interface Parcel {
  readonly row: OutboxRow;
  /** The URL of the page about it. */
  readonly url: string | undefined;
  /** Aborted when the server closes. */
  readonly signal: AbortSignal;
}

/** Runs `work` with a signal that is aborted after a time limit, or together with the other signal. */
async function timed<T>(
  clock: Clock,
  limitMs: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<{ readonly late: boolean; readonly value?: T; readonly thrown?: unknown }> {
  const control = new AbortController();
  let late = false;
  const disarm = clock.after(limitMs, () => {
    late = true;
    control.abort(new Error(`It took more than ${limitMs / 1_000} s.`));
  });
  const onAbort = () => control.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    const value = await work(control.signal);
    return { late, value };
  } catch (thrown) {
    return { late, thrown };
  } finally {
    disarm();
    signal.removeEventListener('abort', onAbort);
  }
}

/** The pauses before each retry, about four hours in total. */
const PAUSES_MS = [5_000, 30_000, 2 * 60_000, 10 * 60_000, 30 * 60_000, 60 * 60_000, 2 * 60 * 60_000];

/** The most attempts before a notification is given up. */
export const MAX_TRIES = PAUSES_MS.length + 1;
/** A receiver may ask for a longer pause, up to this. */
const MAX_PAUSE_MS = 6 * 60 * 60_000;
/** The random variation of pauses, so that many failures do not retry at the same time. */
const JITTER = 0.2;

/** The pause after `tries` attempts. Undefined if no more are made. `random` is from [0, 1). */
export function pauseAfter(tries: number, random: number, askedMs = 0): number | undefined {
  const pause = PAUSES_MS[tries - 1];
  if (pause === undefined) return undefined;
  const own = pause * (1 - JITTER + 2 * JITTER * random);
  return Math.round(Math.max(own, Math.min(askedMs, MAX_PAUSE_MS)));
}

/** Reads the header `retry-after`: seconds, or a date. */
export function retryAfterMs(header: string | null, now: number): number {
  if (header === null) return 0;
  const ms = /^\s*\d+\s*$/.test(header) ? Number(header) * 1_000 : parseHttpDate(header) - now;
  return ms > 0 ? ms : 0;
}

/** Shortens a text without splitting a character. */
export const clip = (text: string, chars: number): string =>
  text.length <= chars ? text : `${text.slice(0, chars - 1).replace(/[\ud800-\udbff]$/, '')}…`;
