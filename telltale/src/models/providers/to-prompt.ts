import type { ModelMessage } from '../model.ts';
import type { PromptMessage, ProviderOptions } from './language-model.ts';

/** Up to a breakpoint Anthropic keeps the prompt for the next request; the others find the common beginning alone. */
const BREAKPOINT: ProviderOptions = { anthropic: { cacheControl: { type: 'ephemeral' } } };

/**
 * The conversation as providers take it. Messages without text are left out (Anthropic refuses them), and those of
 * one role in a row are joined (templates of local models want roles to alternate). What a request begins with does
 * not change when messages are added. For Anthropic, assistants' messages lose white space at their end, which it
 * refuses, and the system prompt and the last message are marked for its cache. Pure.
 */
export function toPrompt(
  system: string,
  messages: readonly ModelMessage[],
  isAnthropic: boolean,
): readonly PromptMessage[] {
  const joined: { role: 'user' | 'assistant'; text: string }[] = [];
  for (const { role, text } of messages) {
    if (role === 'tool') continue;
    const said = isAnthropic && role === 'assistant' ? text.trimEnd() : text;
    if (said.trim() === '') continue;
    const last = joined.at(-1);
    if (last?.role === role) last.text += `\n\n${said}`;
    else joined.push({ role, text: said });
  }
  const prompt: PromptMessage[] = [];
  if (system.trim() !== '') prompt.push({ role: 'system', content: system, ...mark(isAnthropic) });
  for (const [index, { role, text }] of joined.entries())
    prompt.push({
      role,
      content: [{ type: 'text', text }],
      ...mark(isAnthropic && role === 'user' && index === joined.length - 1),
    });
  return prompt;
}

const mark = (marked: boolean) => (marked ? { providerOptions: BREAKPOINT } : {});
