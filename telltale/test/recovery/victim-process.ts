import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SessionResult } from '../../src/agent/runtime-types.ts';
import type { SessionEvent } from '../../src/log/event.ts';

const SESSIONS = join(import.meta.dirname, 'victim.ts');
/** A victim that has neither ended nor been killed by then hangs. */
const PATIENCE_MS = 90_000;

/** Milliseconds from the start of the process, or from its first line on, until it is killed. */
export type Kill = { readonly from: 'spawn' | 'first line'; readonly ms: number };

export interface VictimOptions {
  readonly folder: string;
  /** The session, or what else the program works on. */
  readonly session: string;
  /** That of sessions if absent. */
  readonly program?: string;
  readonly kill?: Kill;
  /** That of the session, if it is not an SQLite file in the folder. */
  readonly store?: string;
  /** Where it kills itself. */
  readonly crashAt?: { readonly point: string; readonly nth: number };
}

type Line<Event, Result> =
  | Event
  | { readonly ended: Result }
  | { readonly refused: { readonly code?: string; readonly message: string } }
  | { readonly point: string };

interface AnyEvent {
  readonly seq: number;
  readonly type: string;
}

/** One life of the process that works on a session. */
export interface Life<Event = SessionEvent, Result = SessionResult> {
  readonly pid: number;
  readonly killed: boolean;
  /** What it printed. */
  readonly events: readonly Event[];
  readonly points: readonly string[];
  readonly ended?: Result;
  readonly refused?: { readonly code?: string; readonly message: string };
}

export interface Victim<Event extends AnyEvent = SessionEvent, Result = SessionResult> {
  readonly pid: number;
  /** Resolves with the first event that it prints of this type. */
  readonly seen: (type: Event['type']) => Promise<Event>;
  readonly kill: () => void;
  readonly life: Promise<Life<Event, Result>>;
}

export function startVictim<Event extends AnyEvent = SessionEvent, Result = SessionResult>({
  folder,
  session,
  program = SESSIONS,
  store,
  kill,
  crashAt,
}: VictimOptions): Victim<Event, Result> {
  const point = crashAt === undefined ? [] : [crashAt.point, String(crashAt.nth)];
  const child = spawn(process.execPath, [...process.execArgv, program, folder, session, ...point], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // Half of what a victim costs is compiling the sources.
    env: {
      ...process.env,
      NODE_COMPILE_CACHE: join(tmpdir(), 'telltale-victims'),
      ...(store === undefined ? {} : { VICTIM_STORE: store }),
    },
  });
  const { pid = 0 } = child;
  const lines: Line<Event, Result>[] = [];
  const waiting = new Set<() => void>();
  let rest = '';
  let errors = '';
  let hangs = false;
  const die = () => child.kill('SIGKILL');
  const timers = [
    setTimeout(() => {
      hangs = true;
      die();
    }, PATIENCE_MS),
  ];
  const arm = (from: Kill['from']) => {
    if (kill?.from === from) timers.push(setTimeout(die, kill.ms));
  };
  arm('spawn');
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (lines.length === 0 && rest === '') arm('first line');
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) lines.push(JSON.parse(part) as Line<Event, Result>);
    for (const look of waiting) look();
  });

  const life = new Promise<Life<Event, Result>>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (_code, signal) => {
      for (const timer of timers) clearTimeout(timer);
      for (const look of waiting) look();
      const killed = signal === 'SIGKILL';
      const summary = { pid, killed, ...sorted(lines) };
      if (hangs)
        reject(new Error(`The victim hung. Its last lines:\n${lines.slice(-5).map(show).join('\n')}`));
      else if (!killed && summary.ended === undefined && summary.refused === undefined)
        reject(new Error(`The victim broke down:\n${errors}`));
      else resolve(summary);
    });
  });
  life.catch(() => undefined); // whoever waits for it hears of it
  return {
    pid,
    kill: die,
    life,
    seen: (type) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = sorted(lines).events.find((event) => event.type === type);
          if (found === undefined && child.exitCode === null && child.signalCode === null) return;
          waiting.delete(look);
          if (found === undefined) reject(new Error(`The victim ended without ${type}:\n${errors}`));
          else resolve(found);
        };
        waiting.add(look);
        look();
      }),
  };
}

const show = (line: unknown) => JSON.stringify(line).slice(0, 300);

function sorted<Event extends AnyEvent, Result>(
  lines: readonly Line<Event, Result>[],
): Omit<Life<Event, Result>, 'pid' | 'killed'> {
  const events: Event[] = [];
  const points: string[] = [];
  let last: Pick<Life<Event, Result>, 'ended' | 'refused'> = {};
  for (const line of lines) {
    if ('seq' in line) events.push(line as Event);
    else if ('point' in line) points.push(line.point as string);
    else last = line as typeof last;
  }
  return { events, points, ...last };
}
