import { expect, it } from 'vitest';
import { commonPrefix, type Prompt, type PromptMessage, reusedPrefix } from '../../src/prompt/prompt.ts';

const user = (text: string): PromptMessage => ({ role: 'user', text });
const assistant = (text: string): PromptMessage => ({ role: 'assistant', text });
const promptOf = (system: string, messages: readonly PromptMessage[], count = messages.length): Prompt => ({
  system,
  messages,
  count,
  tokens: 0,
  hash: '',
  frame: { hash: '', system: '', tools: '', options: '' },
  chars: system.length + messages.slice(0, count).reduce((sum, { text }) => sum + text.length, 0),
});

const BEFORE = promptOf('Be kind.', [user('Do it.'), assistant('Done so far.')]);

it.each([
  ['the same and more', promptOf('Be kind.', [...BEFORE.messages, user('Go on.')]), 26],
  ['the same', promptOf('Be kind.', [...BEFORE.messages]), 26],
  ['another end of the last message', promptOf('Be kind.', [user('Do it.'), assistant('Done so long.')]), 22],
  ['a longer message', promptOf('Be kind.', [user('Do it. Now.'), assistant('Done so far.')]), 14],
  ['a shorter message', promptOf('Be kind.', [user('Do'), assistant('Done so far.')]), 10],
  ['another role', promptOf('Be kind.', [user('Do it.'), user('Done so far.')]), 14],
  ['less', promptOf('Be kind.', [user('Do it.')]), 14],
  ['another system prompt', promptOf('Be kid.', [...BEFORE.messages]), 5],
  ['a longer system prompt', promptOf('Be kind. Always.', [...BEFORE.messages]), 8],
  ['a shorter system prompt', promptOf('Be', [...BEFORE.messages]), 2],
])('a prompt that is %s shares so many characters with the last one', (_what, next, shared) => {
  expect(commonPrefix(BEFORE, next)).toBe(shared);
  expect(reusedPrefix(BEFORE, next)).toBe(shared / BEFORE.chars);
});

it('a prompt of the same conversation holds all of the last one, unless it is shorter or begins otherwise', () => {
  const messages = [...BEFORE.messages, user('Go on.')];
  const last = promptOf('Be kind.', messages, 2);
  expect(reusedPrefix(last, promptOf('Be kind.', messages))).toBe(1);
  expect(reusedPrefix(promptOf('Be kind.', messages), last)).toBe(26 / 32);
  expect(reusedPrefix(last, promptOf('Be kid.', messages))).toBe(5 / 26);
});

it('without a last prompt nothing was lost', () => {
  expect(reusedPrefix(undefined, BEFORE)).toBe(1);
  expect(reusedPrefix(promptOf('', []), BEFORE)).toBe(1);
});
