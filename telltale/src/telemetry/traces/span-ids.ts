import { hash } from 'node:crypto';

/**
 * Trace and span ids are hashes of what the log calls things by: whoever reads the same events, in this process, after a
 * restart or on another machine, gives the same span the same id and names the same parent.
 */
const idOf = (text: string, chars: number): string =>
  hash('sha256', `telltale ${text}`, 'hex').slice(0, chars);

/** `root`: the session or run that nobody called. */
export const traceIdOf = (root: string): string => idOf(`trace ${root}`, 32);

/** Of a session or run. */
export const streamSpanId = (stream: string): string => idOf(`span ${stream}`, 16);

/** Of an action of a session or a step of a run, by its id or address. */
export const partSpanId = (stream: string, part: string): string => idOf(`span ${stream}\n${part}`, 16);

export const turnSpanId = (stream: string, turn: number): string => idOf(`turn ${turn} ${stream}`, 16);

/** Of an event that has a span to itself. */
export const eventSpanId = (stream: string, seq: number): string => idOf(`event ${seq} ${stream}`, 16);

/** Who calls a session or run: a part of a stream, or the stream itself. */
export interface Caller {
  readonly stream: string;
  readonly part?: string;
}

export const callerSpanId = ({ stream, part }: Caller): string =>
  part === undefined ? streamSpanId(stream) : partSpanId(stream, part);

/**
 * The caller as the id has it: `ses_1.fetch~2` is the second try of action `fetch` of `ses_1`, `run_1.build` of step
 * `build`, `ses_1~lead` the run that leads `ses_1`. For streams whose first event nobody has seen.
 */
export function callerIn(stream: string): Caller | undefined {
  const bare = stream.replace(/[~#]\d+$/, '');
  const at = Math.max(bare.lastIndexOf('.'), bare.lastIndexOf('~'));
  if (at <= 0) return undefined;
  const part = bare.slice(at + 1);
  // Runs that feeds ask for are nobody's action.
  return { stream: bare.slice(0, at), ...(bare[at] === '.' && !part.startsWith('feed:') ? { part } : {}) };
}

/** The stream that nobody called, as the id has it. */
export const rootIn = (stream: string): string => /^[^.~]+/.exec(stream)?.[0] ?? stream;
