import type { Heard, ProviderName, Refusal, SaidCall, Utterance } from '../words.ts';

export interface Usage {
  readonly input: number;
  readonly output: number;
}

/** How a provider is asked, and how it answers. */
export interface Wire {
  readonly name: ProviderName;
  /** Whether arguments are text on the wire, so that a model can get their JSON wrong. */
  readonly hasRawArguments: boolean;
  read(body: unknown): Heard;
  /** Frames of a stream of server-sent events. */
  frames(utterance: Utterance, usage: Usage): readonly string[];
  refusal(why: Refusal): { readonly status: number; readonly body: object };
}

const PIECE = 48;

/** A text in the pieces that it comes in; no piece ends inside of a character. */
export const pieces = (text: string): readonly string[] =>
  text.match(new RegExp(`[\\s\\S]{1,${PIECE}}`, 'gu')) ?? [];

export const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;

export const event = (type: string, value: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...value })}\n\n`;

export type Fields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});

export const listOf = (value: unknown): readonly Fields[] =>
  Array.isArray(value) ? value.filter(isFields) : [];

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The text of a message whose content is a text or a list of parts. */
export const contentText = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : listOf(content)
        .map(({ text }) => textOf(text))
        .filter((text) => text !== '')
        .join('\n\n');

/** Neighboring texts and calls of the model are one message. */
export function grouped(messages: readonly Heard['messages'][number][]): Heard['messages'] {
  const found: Heard['messages'][number][] = [];
  for (const message of messages) {
    const last = found.at(-1);
    if (message.by === 'model' && last?.by === 'model') {
      const text = [last.text, message.text].filter((each) => each !== '').join('\n\n');
      found[found.length - 1] = { by: 'model', text, calls: [...last.calls, ...message.calls] };
    } else found.push(message);
  }
  return found;
}

export const call = (id: unknown, name: unknown, input: unknown): SaidCall => ({
  id: textOf(id),
  name: textOf(name),
  input: typeof input === 'string' ? input : JSON.stringify(input ?? {}),
});
