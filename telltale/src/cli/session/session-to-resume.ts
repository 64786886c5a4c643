import type { Store } from '../../store/store.ts';

/** The session to resume so that this one goes on: a sub-agent's is worked on by the one that called it. */
export async function sessionToResume(store: Pick<Store, 'info'>, session: string): Promise<string> {
  const parent = (await store.info(session))?.parent;
  return parent === undefined ? session : sessionToResume(store, parent);
}
