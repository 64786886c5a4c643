import type { ModelMessage } from '../model.ts';
import { CallCleaner } from './clean-calls.ts';
import type { PromptMessage, ProviderOptions, SaidPart, TextPart, ToolCallPart } from './language-model.ts';
import { type SaidPartsOptions, saidParts } from './said-parts.ts';
import { answerInWords, answersBehind, toolResults } from './tool-results.ts';

/** Up to a breakpoint Anthropic keeps the prompt for the next request; the others find the common beginning alone. */
const BREAKPOINT: ProviderOptions = { anthropic: { cacheControl: { type: 'ephemeral' } } };

export interface ToPromptOptions extends SaidPartsOptions {
  /** Whether ids of calls may hold a signature that has to stay. */
  readonly keepsIds?: boolean;
}

/**
 * The conversation as providers take it. Messages without text or calls are left out (Anthropic refuses them), and
 * those of one role in a row are joined (templates of local models want roles to alternate). Every native call is
 * answered by the message behind it, and every answer has its call: providers refuse all else. Names and ids of calls are
 * such as they take. What a request begins
 * with does not change when messages are added. For Anthropic, assistants' messages lose white space at their end,
 * which it refuses, and the system prompt and the last message are marked for its cache. Pure.
 */
export function toPrompt(
  system: string,
  messages: readonly ModelMessage[],
  options: ToPromptOptions,
): readonly PromptMessage[] {
  const cleaner = new CallCleaner(options.keepsIds === true);
  const prompt: PromptMessage[] = [];
  if (system.trim() !== '') prompt.push({ role: 'system', content: system, ...mark(options.isAnthropic) });
  let calls: readonly ToolCallPart[] = [];
  for (const [index, message] of messages.entries()) {
    if (message.role === 'assistant') {
      const parts = saidParts(message, options);
      calls = parts.filter((part) => part.type === 'tool-call');
      const cleaned = new Map(calls.map((call) => [call, cleaner.clean(call)]));
      add(
        prompt,
        'assistant',
        parts.map((part) => (part.type === 'tool-call' ? (cleaned.get(part) ?? part) : part)),
      );
      if (calls.length > 0) {
        const results = toolResults(calls, answersBehind(messages, index));
        const content = results.map((result, at) => {
          const { toolCallId, toolName } = [...cleaned.values()][at] ?? result;
          return { ...result, toolCallId, toolName };
        });
        prompt.push({ role: 'tool', content });
      }
    } else if (message.role === 'user') add(prompt, 'user', textParts(message.text));
    else
      for (const answer of message.answers ?? [])
        if (!calls.some(({ toolCallId }) => toolCallId === answer.call))
          add(prompt, 'user', textParts(answerInWords(answer)));
  }
  const last = prompt.at(-1);
  if (options.isAnthropic && (last?.role === 'user' || last?.role === 'tool'))
    prompt[prompt.length - 1] = { ...last, ...mark(true) };
  return prompt;
}

const textParts = (text: string): readonly TextPart[] => (text.trim() === '' ? [] : [{ type: 'text', text }]);

/** Behind what was said in the same role before; of two texts that meet, one is made. */
function add(prompt: PromptMessage[], role: 'user' | 'assistant', parts: readonly SaidPart[]): void {
  const [first, ...rest] = parts;
  if (first === undefined) return;
  const before = prompt.at(-1);
  const said = before?.role === role ? (before.content as readonly SaidPart[]) : [];
  const tail = said.at(-1);
  const content =
    tail?.type === 'text' && first.type === 'text' && !isSigned(tail) && !isSigned(first)
      ? [...said.slice(0, -1), { type: 'text' as const, text: `${tail.text}\n\n${first.text}` }, ...rest]
      : [...said, ...parts];
  if (said.length > 0) prompt.pop();
  prompt.push({ role, content } as PromptMessage);
}

const isSigned = ({ providerOptions }: TextPart): boolean => providerOptions !== undefined;

const mark = (marked: boolean) => (marked ? { providerOptions: BREAKPOINT } : {});
