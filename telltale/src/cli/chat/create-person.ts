import { paletteFor } from '../colour.ts';
import type { Io } from '../io.ts';
import { readTyped } from './chat-commands.ts';
import { pipedMessages } from './piped-messages.ts';

/** Whoever the agent talks to: a person on a terminal, or what is piped in. */
export interface Person {
  /** The next message, of which `draft` was typed before; undefined where there is none, or when `signal` is aborted. One call at a time. */
  next(signal: AbortSignal, draft?: string): Promise<string | undefined>;
}

export function createPerson(io: Io, status: () => string): Person {
  return io.stdin.isTerminal ? onTerminal(io, status) : inPipe(io);
}

function onTerminal({ stdin, stderr }: Io, status: () => string): Person {
  const { bold, cyan, dim } = paletteFor(stderr);
  return {
    async next(signal, draft = '') {
      for (let begun = draft; ; begun = '') {
        const line = await stdin.readMessage(bold(cyan('› ')), signal, begun);
        if (line === undefined) return undefined;
        if (line.trim() === '') continue;
        const typed = readTyped(line, status);
        if (typed.kind === 'message') return typed.text;
        if (typed.kind === 'quit') return undefined;
        await stderr.write(`${dim(typed.text)}\n`);
      }
    },
  };
}

function inPipe(io: Io): Person {
  const messages = pipedMessages(io);
  /** A line that was asked for, and not given out because somebody else had spoken meanwhile. */
  let asked: Promise<IteratorResult<string>> | undefined;
  return {
    next(signal) {
      asked ??= messages.next();
      const coming = asked;
      return new Promise((resolve, reject) => {
        const giveUp = () => resolve(undefined);
        if (signal.aborted) return giveUp();
        signal.addEventListener('abort', giveUp, { once: true });
        coming.then(
          ({ done, value }) => {
            if (signal.aborted) return;
            signal.removeEventListener('abort', giveUp);
            asked = undefined;
            resolve(done === true ? undefined : value);
          },
          (thrown) => (signal.aborted ? undefined : reject(thrown)),
        );
      });
    },
  };
}
