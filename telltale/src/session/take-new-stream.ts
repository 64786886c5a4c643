import { RuntimeError } from '../kernel/runtime-error.ts';
import type { Store, StreamHead, StreamWriter } from '../store/store.ts';

/** Characters of the input that a list of sessions shows. */
const MAX_TITLE = 200;

export const titleOf = (input: string): string => input.slice(0, MAX_TITLE);

/** Makes the stream of a new session, or takes an empty one. */
export async function takeNewStream(store: Store, id: string, head: StreamHead): Promise<StreamWriter> {
  try {
    return await store.create(id, head);
  } catch (thrown) {
    return takeEmptyStream(store, id, thrown);
  }
}

/**
 * Takes a stream that could not be made since one is there, if it holds nothing: a process died between making it and
 * writing its first event. Throws what was thrown at its making where that is not so.
 */
export async function takeEmptyStream(store: Store, id: string, thrown: unknown): Promise<StreamWriter> {
  if (!(thrown instanceof RuntimeError) || thrown.code !== 'stream_exists') throw thrown;
  if ((await store.info(id))?.head !== 0) throw thrown;
  const writer = await store.acquire(id);
  if (writer.head === 0) return writer;
  await writer.release(); // another one was quicker
  throw thrown;
}
