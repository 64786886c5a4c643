import type { Engine } from '../../engine/engine.ts';
import type { RunState } from '../../log/run-state.ts';
import type { RunsDeps } from './run-environment.ts';
import { type EndMessage, RUN_CHILD, RUN_ENDED, RUN_WAITS, type RunEnd } from './run-messages.ts';

/** Sessions whose inbox nobody will read: they see the end of their runs if they are ever taken up again. */
const OVER: ReadonlySet<string> = new Set(['completed', 'cancelled']);

/** Tells the session whose trigger started a run, or the run that called it, how it ended. */
export async function tellEnd(
  { store, engine }: Pick<RunsDeps, 'store'> & { readonly engine: Pick<Engine, 'signal'> },
  state: RunState,
): Promise<void> {
  const { origin, id } = state;
  if (origin.parent !== undefined) {
    await engine.signal('run', origin.parent.run, { kind: RUN_CHILD, from: id, body: { run: id } });
    return;
  }
  if (origin.leads === true) await wakeLed(store, state);
  if (origin.session === undefined || origin.trigger === undefined) return;
  const info = await store.info(origin.session.id);
  if (info === undefined || OVER.has(info.status)) return;
  const message = endMessage(state);
  if (message === undefined) return;
  await store.send(origin.session.id, {
    kind: RUN_ENDED,
    from: id,
    body: JSON.parse(JSON.stringify(message)),
  });
}

/** Gets the session that a run leads resumed, by whichever process, where it waits. */
export async function wakeLed(
  store: Pick<RunsDeps['store'], 'info' | 'send'>,
  { id, origin }: RunState,
): Promise<void> {
  const session = origin.session?.id ?? '';
  const info = await store.info(session);
  if (info?.status !== 'waiting' || info.messages !== undefined) return;
  await store.send(session, { kind: RUN_WAITS, from: id, body: '' });
}

/** Undefined where it has not ended. */
export function endMessage(state: RunState): EndMessage | undefined {
  const end = endOf(state);
  if (end === undefined) return undefined;
  const { id, workflow, started: cause, ended = cause } = state;
  return { run: id, workflow, end, charged: state.charged, cause: ended };
}

function endOf({ status, output = null, error }: RunState): RunEnd | undefined {
  switch (status) {
    case 'completed':
      return { status, output };
    case 'failed':
      return { status, error: error ?? NO_REASON };
    case 'cancelled':
      return { status, reason: (error ?? NO_REASON).message };
    case 'running':
    case 'waiting':
      return undefined;
  }
}

const NO_REASON = { code: 'failed', message: 'No reason is on the log.', retryable: false };
