import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { RuntimeError } from '../../lib/errors.ts';
import { suggest } from '../../lib/nearest.ts';
import type { Io, Typing } from '../io.ts';
import { paletteFor } from '../io.ts';
import { readText } from '../parse/read-text.ts';

export interface ReadTyping {
  readonly input: NodeJS.ReadStream;
  /** Earlier lines, newest first. Each new line is added. */
  readonly history: string[];
  readonly signal: AbortSignal;
  /** Called at Ctrl-C. */
  readonly onInterrupt: () => void;
}

const MAX_HISTORY = 200;

/**
 * Reads lines while something else is drawn on the terminal. Editing works as in `readMessage`; the caller draws the
 * unfinished line. Lines that arrive together were pasted: they are one line. Resolves when `signal` is aborted, or at
 * Ctrl-D.
 */
export function readTyping(options: ReadTyping, typing: Typing): Promise<void> {
  const { input, history, signal, onInterrupt } = options;
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const unseen = new Writable({ write: (_chunk, _encoding, done) => done() });
    const editor = createInterface({
      input,
      output: unseen,
      prompt: '',
      history: [...history],
      historySize: MAX_HISTORY,
      removeHistoryDuplicates: true,
      terminal: true,
    });
    let pasted: string[] = [];
    const send = () => {
      const text = pasted.join('\n');
      pasted = [];
      typing.draft(editor.line);
      if (text.trim() === '') return;
      if (history[0] !== text) history.unshift(text);
      history.length = Math.min(history.length, MAX_HISTORY);
      typing.line(text);
    };
    // The editor's own listener runs first and has changed the line by now.
    const onKey = () => typing.draft([...pasted, editor.line].join(' '));
    const stop = () => editor.close();
    editor.on('line', (line) => {
      pasted.push(line);
      if (pasted.length === 1) setImmediate(send);
    });
    editor.on('SIGINT', onInterrupt);
    input.on('keypress', onKey);
    editor.once('close', () => {
      signal.removeEventListener('abort', stop);
      input.removeListener('keypress', onKey);
      input.pause();
      resolve();
    });
    signal.addEventListener('abort', stop, { once: true });
  });
}

/** Whoever the agent talks to: a person on a terminal, or piped input. */
export interface MessageSource {
  /**
   * The next message. `draft` was typed before it. Undefined if there is none, or when `signal` is aborted. Make one
   * call at a time.
   */
  next(signal: AbortSignal, draft?: string): Promise<string | undefined>;
}

export function createMessageSource(io: Io, status: () => string): MessageSource {
  return io.stdin.isTerminal ? onTerminal(io, status) : inPipe(io);
}

function onTerminal({ stdin, stderr }: Io, status: () => string): MessageSource {
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

function inPipe(io: Io): MessageSource {
  const messages = pipedMessages(io);
  /** A line that was requested but not used, because another message arrived first. */
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

/** More than any model's context window holds. */
const MAX_CHARACTERS = 4 * 1024 * 1024;

/** Piped messages, one per line. Empty lines are ignored. */
async function* pipedMessages(io: Io): AsyncGenerator<string> {
  let rest = '';
  for await (const piece of readText('-', io)) {
    const lines = (rest + piece).split(/\r?\n/);
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.trim() !== '') yield line;
    if (rest.length > MAX_CHARACTERS) throw lineTooLong();
  }
  if (rest.trim() !== '') yield rest;
}

const lineTooLong = () =>
  new RuntimeError(
    'file_too_large',
    `A line of standard input is longer than ${MAX_CHARACTERS.toLocaleString('en')} characters.`,
    { hint: 'A line is a message. Put long texts into a file that the agent can read with a tool.' },
  );

/** Commands that a person may type instead of a message. */
const COMMANDS = {
  '/help': 'this list',
  '/status': 'the session, its turns, tokens and cost',
  '/quit': 'end the conversation, as Ctrl-D does',
} as const;
type Known = keyof typeof COMMANDS;

export type Typed =
  | { readonly kind: 'message'; readonly text: string }
  | { readonly kind: 'quit' }
  /** Answered here; then the prompt appears again. */
  | { readonly kind: 'answer'; readonly text: string };

/** A single word after a slash is a command. A path with another slash is not. */
const WORD = /^\/[a-z]+$/i;

export function readTyped(line: string, status: () => string): Typed {
  const word = line.trim();
  if (!WORD.test(word)) return { kind: 'message', text: line };
  if (!Object.hasOwn(COMMANDS, word))
    return {
      kind: 'answer',
      text: `There is no ${word}. ${suggest(word, Object.keys(COMMANDS), 'Commands')}`,
    };
  switch (word as Known) {
    case '/quit':
      return { kind: 'quit' };
    case '/status':
      return { kind: 'answer', text: status() };
    case '/help':
      return { kind: 'answer', text: HELP };
  }
}

const HELP = [
  ...Object.entries(COMMANDS).map(([name, does]) => `${name.padEnd(9)} ${does}`),
  'Ctrl-C    stop the turn; twice: leave, so that you can resume',
].join('\n');
