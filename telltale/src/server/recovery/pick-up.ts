import { leadRun } from '../../agent/guided/guidance.ts';
import type { LoadedAgent } from '../../agent/loaded-agent.ts';
import type { ResumeOptions, Session } from '../../agent/runtime-types.ts';
import { RuntimeError } from '../../lib/errors.ts';
import { decodeEvent } from '../../log/codec.ts';
import type { Store, StreamInfo } from '../../store/store.ts';
import type { AgentCatalog } from '../catalog/agent-catalog.ts';
import type { ServerDeps } from '../server-edges.ts';

type PickUpDeps = Pick<ServerDeps, 'runtime' | 'onError'> & {
  readonly catalog: Pick<AgentCatalog, 'list'>;
};

/** Of sessions and runs that called each other. */
const MAX_ABOVE = 50;

/**
 * Has a session go on that something came for and that nobody works on: an answer, a message. Nothing is done where
 * somebody does, or where it has ended. One that was called by another goes on with that one. What came is sent by
 * `first`, where that is given: not where going on is refused, so that whoever tries again says nothing twice. `no room`:
 * all places of this process are taken; what came is in the inbox, for whoever has one first.
 */
export async function takeUp(
  deps: PickUpDeps,
  stream: string,
  first?: () => Promise<unknown>,
): Promise<'settled' | 'no room'> {
  const { store, places } = deps.runtime;
  const info = await whoGoesOn(store, stream);
  if (info === undefined || info.owner !== undefined || !GOES_ON.has(info.status)) {
    await first?.();
    return 'settled';
  }
  if (info.kind === 'session') {
    const place = places?.reserve('session', info.stream);
    if (places !== undefined && place === undefined) {
      await first?.();
      return 'no room';
    }
    try {
      await (first === undefined
        ? unlessOwned(resumeSession(deps, info.stream), OVER)
        : unlessOwned(resumeSession(deps, info.stream, { first })));
    } finally {
      place?.release(); // it has its own by now
    }
    return 'settled';
  }
  await first?.();
  const { workflows } = deps.runtime;
  // Its log says nothing of what came for its agent.
  if (info.stream !== stream && (await store.info(stream))?.kind === 'session') workflows.wake(info.stream);
  else await unlessOwned(workflows.resume(info.stream, { onWaiting: 'release' }), OVER);
  return 'settled';
}

/** It was alive when it was looked at: somebody else was quicker, and has brought it to its end. */
export const OVER: ReadonlySet<string> = new Set(['session_completed', 'session_ended', 'run_ended']);
const NOTHING: ReadonlySet<string> = new Set();

/** Somebody else was quicker: then it goes on. `also` are errors that say the same. */
export async function unlessOwned(resuming: Promise<unknown>, also = NOTHING): Promise<void> {
  try {
    await resuming;
  } catch (thrown) {
    const code = thrown instanceof RuntimeError ? thrown.code : '';
    if (code !== 'stream_owned' && !also.has(code)) throw thrown;
  }
}

const GOES_ON: ReadonlySet<string> = new Set(['running', 'waiting', 'interrupted']);

/** Takes a session over, with the agent as the catalog has it; else its manifest is read again. `by`: the runtime itself. */
export async function resumeSession(
  { runtime, catalog, onError }: PickUpDeps,
  id: string,
  options: Omit<ResumeOptions<unknown>, 'agent' | 'onWaiting'> = {},
): Promise<Session<unknown>> {
  const agent = await agentOf({ runtime, catalog }, id);
  const session = await runtime.resume(id, {
    by: 'runtime',
    ...options,
    ...(agent === undefined ? {} : { agent }),
    onWaiting: 'release',
  });
  hearOfLoss(session, onError);
  return session;
}

/**
 * The agent that a session was started with, where the catalog still has it: at the same place, or, where another machine
 * has it elsewhere, word for word the same.
 */
export async function agentOf(
  { runtime, catalog }: Pick<PickUpDeps, 'runtime' | 'catalog'>,
  id: string,
): Promise<LoadedAgent<unknown> | undefined> {
  const [line] = await runtime.store.read(id, { limit: 1 });
  const first = line === undefined ? undefined : decodeEvent(line, id);
  if (first?.type !== 'session.started') return undefined;
  const { path, hash } = first.manifest;
  const named = catalog.list().filter(({ name }) => name === first.agent);
  const known = named.find((each) => each.path === path) ?? named.find(({ agent }) => agent?.hash === hash);
  return known?.agent;
}

/**
 * What was called by another goes on with that one. A run that a trigger set off goes on without its session, and one
 * whose agent something came for without the run that called it.
 */
export async function whoGoesOn(store: Store, stream: string): Promise<StreamInfo | undefined> {
  let info = await store.info(stream);
  const asked = info?.kind;
  for (let above = 0; info?.parent !== undefined && above < MAX_ABOVE; above++) {
    const parent: StreamInfo | undefined = await store.info(info.parent);
    const isCalled =
      parent !== undefined &&
      (info.kind === 'session' ||
        (parent.kind === 'run' && asked === 'run') ||
        info.stream === leadRun(parent.stream));
    if (!isCalled) return info;
    info = parent;
  }
  return info;
}

/** Tells of a session that could not begin, and of one whose log cannot be written: the log itself does not say so. */
export function hearOfLoss(
  { result }: Pick<Session<unknown>, 'result'>,
  onError: (thrown: unknown) => void,
): void {
  result.then(({ status, error }) => {
    if (status !== 'interrupted' || error === undefined || !error.code.startsWith('store_')) return;
    const { code, message, ...rest } = error;
    onError(new RuntimeError(code, message, rest));
  }, onError);
}
