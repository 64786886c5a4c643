import { leadRun } from '../../agent/guided/guidance.ts';
import { readSession } from '../../agent/read-session.ts';
import { readRun } from '../../engine/read-run.ts';
import { RuntimeError } from '../../lib/errors.ts';
import { nearest } from '../../lib/nearest.ts';
import type { Store, StreamInfo } from '../../store/store.ts';
import type { Io } from '../io.ts';

type Kind = StreamInfo['kind'];

/** How many sessions are searched for a part of an id. */
const MAX_SEARCHED = 10_000;
const MAX_NAMED = 5;

/** The session that an argument names by its id, the beginning or end of its id, or `last`. */
export async function findSession(store: Store, asked: string): Promise<StreamInfo> {
  const exact = await store.info(asked);
  if (exact?.kind === 'run') throw isRun(asked);
  return exact ?? search(asked, await store.list({ kind: 'session', limit: MAX_SEARCHED }), store, 'session');
}

/** The workflow run that an argument names. `last` is the newest run that no other run called. */
export async function findRun(store: Store, asked: string): Promise<StreamInfo> {
  const exact = await store.info(asked);
  if (exact?.kind === 'session') throw isSession(asked);
  return exact ?? search(asked, await store.list({ kind: 'run', limit: MAX_SEARCHED }), store, 'run');
}

/** The session or run that an argument names. `last` is a session. */
export async function findStream(store: Store, asked: string): Promise<StreamInfo> {
  const exact = await store.info(asked);
  if (exact !== undefined) return exact;
  const sessions = await store.list({ kind: 'session', limit: MAX_SEARCHED });
  if (asked === 'last' || asked === '') return search(asked, sessions, store, 'session');
  const runs = await store.list({ kind: 'run', limit: MAX_SEARCHED });
  return search(asked, [...sessions, ...runs], store, 'session');
}

function search(asked: string, known: readonly StreamInfo[], store: Store, kind: Kind): StreamInfo {
  if (known.length === 0) throw NONE[kind](store.location);
  if (asked === 'last') return newest(known);
  const parts = asked === '' ? [] : known.filter(({ stream }) => isPart(stream, asked));
  // The id of a sub-agent's session begins with its parent's id.
  const own = parts.filter(({ parent }) => !parts.some(({ stream }) => stream === parent));
  const matching = own.length > 0 ? own : parts;
  const [only] = matching;
  if (only === undefined) throw unknown(asked, known, kind);
  if (matching.length > 1) throw ambiguous(asked, matching, kind);
  return only;
}

const isPart = (id: string, asked: string) => id.startsWith(asked) || id.endsWith(asked);

/** The newest one that was not started by another one of its kind: the user means what they started themselves. */
function newest(known: readonly StreamInfo[]): StreamInfo {
  const ids = new Set(known.map(({ stream }) => stream));
  const own = known.find(({ parent, kind }) => parent === undefined || (kind === 'run' && !ids.has(parent)));
  return (own ?? known[0]) as StreamInfo;
}

const NONE: Readonly<Record<Kind, (location: string) => RuntimeError>> = {
  session: (location) =>
    new RuntimeError('session_unknown', `There are no sessions in ${location}.`, {
      hint: 'Start one: telltale run MANIFEST "what to do"',
    }),
  run: (location) =>
    new RuntimeError('run_unknown', `There are no workflow runs in ${location}.`, {
      hint: 'Start one: telltale workflow run MANIFEST WORKFLOW',
    }),
};

const LIST: Readonly<Record<Kind, string>> = { session: 'telltale sessions', run: 'telltale workflow list' };
const UNKNOWN: Readonly<Record<Kind, string>> = { session: 'session_unknown', run: 'run_unknown' };
const AMBIGUOUS: Readonly<Record<Kind, string>> = { session: 'session_ambiguous', run: 'run_ambiguous' };
const WHAT: Readonly<Record<Kind, string>> = { session: 'session', run: 'workflow run' };

const isRun = (asked: string) =>
  new RuntimeError('session_unknown', `'${asked}' is a workflow run, not a session.`, {
    hint: `To see it: telltale workflow show ${asked}`,
  });

const isSession = (asked: string) =>
  new RuntimeError('run_unknown', `'${asked}' is a session, not a workflow run.`, {
    hint: `To see the runs that it triggered: telltale show ${asked}`,
  });

const unknown = (asked: string, known: readonly StreamInfo[], kind: Kind) => {
  const near = nearest(
    asked,
    known.map(({ stream }) => stream),
  );
  return new RuntimeError(UNKNOWN[kind], `There is no ${WHAT[kind]} '${asked}'.`, {
    hint: `${near === undefined ? '' : `Did you mean "${near}"? `}"${LIST[kind]}" lists them; "last" is the newest.`,
  });
};

const ambiguous = (asked: string, matching: readonly StreamInfo[], kind: Kind) => {
  const named = matching.slice(0, MAX_NAMED).map(({ stream }) => stream);
  const more = matching.length - named.length;
  return new RuntimeError(AMBIGUOUS[kind], `'${asked}' may be any of ${matching.length} ${WHAT[kind]}s.`, {
    hint: `Write more of the id: ${named.join(', ')}${more > 0 ? ` or ${more} more` : ''}.`,
  });
};

/** Appears in the help of commands. */
export const SESSION_HELP = 'SESSION is an id, its first or last characters, or "last".';
export const STREAM_HELP = `${SESSION_HELP}
The id of a workflow run works, too.`;
export const RUN_HELP = 'RUN is the id of a workflow run, its first or last characters, or "last".';
export const SEQ_HELP = `${SESSION_HELP} SEQ is the number
at the start of a line of "telltale logs".`;

/**
 * The command that resumes a session or a run. One that was called by another is resumed through its caller. If the
 * manifest has changed, the command includes the option that accepts the change.
 */
export async function streamToResume(
  store: Pick<Store, 'info'>,
  info: Pick<StreamInfo, 'stream' | 'kind' | 'parent'>,
  io: Pick<Io, 'env' | 'cwd' | 'program'>,
): Promise<string> {
  const parent = info.parent === undefined ? undefined : await store.info(info.parent);
  // A run that a trigger started has a session as its parent but continues without it. A run that guides the session
  // does not.
  if (
    parent !== undefined &&
    (info.kind === 'session' || parent.kind === 'run' || info.stream === leadRun(parent.stream))
  )
    return streamToResume(store, parent, io);
  const command = `${io.program} ${info.kind === 'run' ? 'workflow resume' : 'resume'} ${info.stream}`;
  return (await hasOtherManifest(store as Store, info, io)) ? `${command} --accept-changes` : command;
}

/** False if it cannot be known: resuming then reports the problem. */
async function hasOtherManifest(
  store: Store,
  { stream, kind }: Pick<StreamInfo, 'stream' | 'kind'>,
  { env, cwd }: Pick<Io, 'env' | 'cwd'>,
): Promise<boolean> {
  try {
    const { manifest, name } =
      kind === 'run'
        ? await readRun(store, stream).then(({ manifest: of }) => ({ manifest: of, name: of.agent }))
        : await readSession(store, stream).then((of) => ({ manifest: of.manifest, name: of.agent }));
    if (manifest.code === true) return false;
    const { loadAgent } = await import('../../agent/load-agent.ts');
    return (await loadAgent(manifest.path, { env, cwd, name })).hash !== manifest.hash;
  } catch {
    return false;
  }
}
