import type { Store } from '../../store/store.ts';
import { eventUnknown } from './event-unknown.ts';

/** The state that is being read of a log, if that is the one after `seq`; 0 is before the first event. */
export async function stateAt<State extends { readonly seq: number }>(
  store: Pick<Store, 'info'>,
  stream: string,
  seq: number | undefined,
  reading: Promise<State>,
): Promise<State> {
  const state = await reading;
  if (seq === undefined || state.seq === seq) return state;
  throw eventUnknown(stream, seq, (await store.info(stream))?.head ?? state.seq);
}
