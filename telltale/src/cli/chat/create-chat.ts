import type { ObservedEvent } from '../../events/event.ts';
import type { Session } from '../../session/runtime-types.ts';
import { paletteFor } from '../colour.ts';
import type { Io } from '../io.ts';
import type { RunView } from '../run/run-view.ts';
import { createChatTotals } from './chat-totals.ts';
import { createPerson } from './create-person.ts';

/** Leads a session through a conversation: says something whenever it waits, and takes Ctrl-C in hand. */
export interface Chat {
  /** What the person says first; undefined where nothing is said. */
  first(): Promise<string | undefined>;
  lead(session: Session): void;
  /** Before an event is shown: what is asked for is put away where the session goes on without it. */
  before(event: ObservedEvent): Promise<void>;
  after(event: ObservedEvent): void;
  /** What the conversation has come to, in one line. */
  status(): string;
  /** Whether the session waits for a message. */
  readonly idle: boolean;
  /** Lets go of the terminal. Rejects where the person could not be heard. */
  end(): Promise<void>;
}

export function createChat(io: Io, view: RunView): Chat {
  const totals = createChatTotals();
  const person = createPerson(io, totals.text);
  const { dim } = paletteFor(io.stderr);
  let session: Session | undefined;
  let asking: { readonly abort: AbortController; readonly done: Promise<void> } | undefined;
  let idle = true;
  let wasInterrupted = false;
  let failure: { readonly thrown: unknown } | undefined;

  /** The first Ctrl-C since the last message is for the turn, the next one for the chat. */
  const interrupted = (): boolean => {
    if (wasInterrupted) return false;
    wasInterrupted = true;
    if (!idle) {
      session?.breakOff();
      view.breaksOff?.();
    } else void io.stderr.write(`${dim('Ctrl-C again leaves; Ctrl-D ends the conversation.')}\n`);
    return true;
  };
  const release = io.stdin.isTerminal ? io.takeInterrupts(interrupted) : () => undefined;

  const hear = async (signal: AbortSignal): Promise<string | undefined> => {
    await view.leave();
    const text = await view.aside((draft) => person.next(signal, draft), 'message');
    if (text !== undefined) wasInterrupted = false;
    return text;
  };

  const ask = (talking: Session) => {
    const abort = new AbortController();
    const done = hear(AbortSignal.any([abort.signal, io.signal])).then(
      async (text) => {
        if (text !== undefined) await talking.say(text);
        else if (!abort.signal.aborted && !io.signal.aborted) talking.finish();
      },
      async (thrown) => {
        failure ??= { thrown };
        await talking.interrupt();
      },
    );
    done.catch((thrown) => {
      failure ??= { thrown };
    });
    asking = { abort, done };
  };

  const putAway = async () => {
    const asked = asking;
    asking = undefined;
    asked?.abort.abort();
    await asked?.done.catch(() => undefined); // kept as the failure
  };

  return {
    first: () => hear(io.signal),
    status: totals.text,
    lead(given) {
      session = given;
      idle = false;
    },
    async before(event) {
      totals.take(event);
      if (event.type !== 'message.received' && event.type !== 'turn.started') return;
      idle = false;
      await putAway();
    },
    after(event) {
      if (event.type !== 'session.waiting' || event.for !== 'message' || session === undefined) return;
      idle = true;
      ask(session);
    },
    get idle() {
      return idle;
    },
    async end() {
      release();
      await putAway();
      if (failure !== undefined) throw failure.thrown;
    },
  };
}
