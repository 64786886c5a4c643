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

/** The most sessions and runs above each other. */
const MAX_ABOVE = 50;

/**
 * Resumes a session without an owner, because something arrived for it: an answer, or a message. Does nothing if it has
 * an owner or has ended. If another session or run called it, that one is resumed instead. `first` sends what arrived.
 * It is not called if resuming is refused, so that a retry sends nothing twice. `no room` means that all slots of this
 * process are taken: what arrived is in the inbox, for whichever process has a free slot first.
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
      place?.release(); // it has its own slot by now
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

/** Errors of a stream that was alive when it was checked, but has ended in another process meanwhile. */
export const OVER: ReadonlySet<string> = new Set(['session_completed', 'session_ended', 'run_ended']);
const NOTHING: ReadonlySet<string> = new Set();

/** Ignores an error that means another process was first and continues the stream. `also` are further such codes. */
export async function unlessOwned(resuming: Promise<unknown>, also = NOTHING): Promise<void> {
  try {
    await resuming;
  } catch (thrown) {
    const code = thrown instanceof RuntimeError ? thrown.code : '';
    if (code !== 'stream_owned' && !also.has(code)) throw thrown;
  }
}

const GOES_ON: ReadonlySet<string> = new Set(['running', 'waiting', 'interrupted']);

/**
 * Resumes a session here, with its agent from the catalog, or with its manifest read again. By default, `by` is the
 * runtime.
 */
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
 * The agent a session was started with, if the catalog still has it: at the same path, or with identical content on
 * another machine.
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
 * Finds the stream to resume. A called session or run continues together with its caller. Exceptions: a run started by
 * a trigger continues without its session, and a run continues without the run that called it if something arrived for
 * its agent.
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

/**
 * Reports a session that could not start, and one whose log cannot be written, because the log itself cannot show that.
 */
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
