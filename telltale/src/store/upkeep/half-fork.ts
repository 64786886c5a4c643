import { decodeEvent } from '../../log/codec.ts';
import type { Store, StreamInfo } from '../store.ts';
import { readCopyMarker } from './plan-copy.ts';
import { RESTORING } from './upkeep.ts';

/**
 * Whether a stream is what is left of a fork in several parts that was broken off. While the store is the copy of another
 * it may be one that the copy goes on with; an import that was broken off begins anew, and needs none of it.
 */
export async function isHalfFork(
  store: Store,
  { stream, kind, status, owner, head }: StreamInfo,
): Promise<boolean> {
  if (status !== RESTORING || kind !== 'session' || owner !== undefined || head === 0) return false;
  if ((await readCopyMarker(store)) !== undefined) return false;
  const [line = ''] = await store.read(stream, { limit: 1 });
  try {
    const first = decodeEvent(line, stream);
    return first.type === 'session.started' && first.forked !== undefined;
  } catch {
    return false; // whose it is cannot be read any more
  }
}
