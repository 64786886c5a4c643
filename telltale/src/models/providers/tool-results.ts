import type { ModelMessage, ToolAnswer } from '../model.ts';
import type { ToolCallPart, ToolResultPart } from './language-model.ts';

/** What a call is told that nobody answered: OpenAI and Anthropic refuse a request with such a call. */
const NOT_RUN = 'not run: the turn broke off';

/** The answers that stand between the assistant's message at `index` and its next one. */
export function answersBehind(messages: readonly ModelMessage[], index: number): readonly ToolAnswer[] {
  const found: ToolAnswer[] = [];
  for (let at = index + 1; at < messages.length && messages[at]?.role !== 'assistant'; at++)
    found.push(...(messages[at]?.answers ?? []));
  return found;
}

/** One result for each call, in the order of the calls. Pure. */
export function toolResults(
  calls: readonly ToolCallPart[],
  answers: readonly ToolAnswer[],
): readonly ToolResultPart[] {
  const left = [...answers];
  return calls.map(({ toolCallId, toolName }) => {
    const at = left.findIndex(({ call }) => call === toolCallId);
    const [answer] = at === -1 ? [] : left.splice(at, 1);
    const { text, failed } = answer ?? { text: NOT_RUN, failed: true };
    return {
      type: 'tool-result',
      toolCallId,
      toolName,
      output: { type: failed === true ? 'error-text' : 'text', value: text },
    };
  });
}

/** An answer whose call is not in the request. */
export const answerInWords = ({ name, text, failed }: ToolAnswer): string =>
  `[${name} ${failed === true ? 'failed' : 'answered'}: ${text}]`;
