import type { Session } from '../../session/runtime-types.ts';
import { readTyped } from '../chat/chat-commands.ts';
import type { Io } from '../io.ts';
import type { RunMode } from './run-mode.ts';
import type { RunView } from './run-view.ts';

/** Lines that a person types on the terminal while the agent works: each is a message for the agent. */
export interface Steering {
  begin(session: Session): void;
  /**
   * Leaves the keyboard to `ask` while it lasts. A question waits until no line is half typed: the rest of it would be an
   * answer. A prompt for a message goes on with that line.
   */
  aside<T>(ask: (draft: string) => Promise<T>, kind?: 'message'): Promise<T>;
  /** Nothing is taken any more. */
  end(): Promise<void>;
}

export interface SteeringOptions {
  readonly mode: RunMode;
  /** For a conversation: what /status says. */
  readonly status?: () => string;
}

/** Undefined where there is no terminal to type on, or no view that shows what is typed. */
export function steerByTyping(
  { stdin, signal }: Pick<Io, 'stdin' | 'signal'>,
  view: Pick<RunView, 'typed' | 'tell'>,
  { mode, status }: SteeringOptions,
): Steering | undefined {
  const { readTyping } = stdin;
  const { typed, tell } = view;
  if (mode !== 'live' || !stdin.isTerminal) return undefined;
  if (readTyping === undefined || typed === undefined || tell === undefined) return undefined;
  let session: Session | undefined;
  let draft = '';
  let reading: { readonly abort: AbortController; readonly done: Promise<void> } | undefined;
  let whenEmpty: (() => void) | undefined;
  let asides = 0;
  let isOver = false;

  const setDraft = (text: string) => {
    draft = text;
    if (text === '') whenEmpty?.();
    typed(text, whenEmpty !== undefined);
  };
  const send = async (text: string): Promise<void> => {
    if (session === undefined) return;
    const said = status === undefined ? undefined : readTyped(text, status);
    if (said?.kind === 'answer') return tell(said.text);
    if (said?.kind === 'quit') return session.finish();
    try {
      await session.steer(text);
    } catch (thrown) {
      tell(`Not sent: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
    }
  };
  const read = () => {
    if (isOver || asides > 0 || session === undefined || reading !== undefined) return;
    const abort = new AbortController();
    const done = readTyping.call(stdin, AbortSignal.any([abort.signal, signal]), {
      draft: setDraft,
      line: (text) => void send(text),
    });
    reading = { abort, done };
    typed('', false);
  };
  const stop = async () => {
    const now = reading;
    if (now === undefined) return;
    reading = undefined;
    now.abort.abort();
    await now.done;
    draft = '';
    typed(undefined, false);
  };

  return {
    begin(given) {
      session = given;
      read();
    },
    async aside(ask, kind) {
      asides++;
      try {
        if (kind !== 'message' && draft !== '' && reading !== undefined && !signal.aborted) {
          const { done } = reading;
          await Promise.race([
            done,
            new Promise<void>((resolve) => {
              whenEmpty = resolve;
              typed(draft, true);
            }),
          ]);
          whenEmpty = undefined;
        }
        const left = draft;
        await stop();
        return await ask(left);
      } finally {
        asides--;
        read();
      }
    },
    async end() {
      isOver = true;
      await stop();
    },
  };
}
