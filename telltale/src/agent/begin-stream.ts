import { RuntimeError } from '../lib/errors.ts';
import type { Store, StreamHead, StreamWriter } from '../store/store.ts';

/** Characters of the input that a list of sessions shows. */
const MAX_TITLE = 200;

export const titleOf = (input: string): string => input.slice(0, MAX_TITLE);

/** What a new session has of its stream. */
export interface BegunStream<Begun> {
  readonly begun: Begun;
  /** Whether somebody may have written to it by now. To be asked once, when what comes from then on wakes its owner. */
  readonly hasMail: () => boolean;
}

/** Calls back once the stream is made, at once where it is; never, where it is refused. */
export type WhenMade = (then: () => void) => void;

/**
 * Makes the stream of a new session, in one commit with what `start` appends at once, or takes an empty one, for which
 * `start` is called again. Given when it is committed.
 */
export async function beginStream<Begun>(
  store: Store,
  id: string,
  head: StreamHead,
  start: (writer: StreamWriter, whenMade: WhenMade) => Begun,
): Promise<BegunStream<Begun>> {
  const { writer, made } = store.begin(id, head);
  let isWoken = false;
  // From before the commit on: until then nobody can write to it.
  const forget = writer.onWake(() => {
    isWoken = true;
  });
  let isMade = false;
  const begun = start(writer, (then) => {
    if (isMade) then();
    else made.then(then, () => undefined); // whoever begins it hears of it below
  });
  try {
    await made;
  } catch (thrown) {
    await writer.release();
    const empty = await takeEmptyStream(store, id, thrown);
    return { begun: start(empty, (then) => then()), hasMail: () => true };
  }
  isMade = true;
  const hasMail = () => {
    forget();
    return isWoken;
  };
  return { begun, hasMail };
}

/**
 * Takes a stream that could not be made since one is there, if it holds nothing: an older version made streams before
 * their first events, and a process died in between. Throws what was thrown at its making where that is not so.
 */
export async function takeEmptyStream(store: Store, id: string, thrown: unknown): Promise<StreamWriter> {
  if (!(thrown instanceof RuntimeError) || thrown.code !== 'stream_exists') throw thrown;
  if ((await store.info(id))?.head !== 0) throw thrown;
  const writer = await store.acquire(id);
  if (writer.head === 0) return writer;
  await writer.release(); // another one was quicker
  throw thrown;
}
