import type { Prompt } from '../../src/prompt/prompt.ts';

/** As it is now: prompts of one conversation share their messages, so that what is rewritten in one is so in all. */
export const copiedPrompt = (prompt: Prompt): Prompt => ({
  ...prompt,
  messages: structuredClone(prompt.messages.slice(0, prompt.count)),
});
