import { suggest } from '../../kernel/nearest.ts';

/** What a person may type in place of a message. */
const COMMANDS = {
  '/help': 'this list',
  '/status': 'the session, its turns, tokens and cost',
  '/quit': 'end the conversation, as Ctrl-D does',
} as const;
type Known = keyof typeof COMMANDS;

export type Typed =
  | { readonly kind: 'message'; readonly text: string }
  | { readonly kind: 'quit' }
  /** Answered here, and then asked again. */
  | { readonly kind: 'answer'; readonly text: string };

/** A single word behind a slash is a command; a path with another slash in it is not. */
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
