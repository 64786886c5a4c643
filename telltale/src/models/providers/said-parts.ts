import { FRAME_MARK, type ProviderPart, readTurnParts } from '../../lib/calls.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { isMap } from '../../manifest/schema/plain-values.ts';
import type { ModelMessage } from '../model.ts';
import type { ProviderOptions, SaidPart } from './language-model.ts';

export interface SaidPartsOptions {
  readonly isAnthropic: boolean;
  /** Whether the request offers tools. If not, calls are written as text, because Anthropic refuses them. */
  readonly hasTools: boolean;
  /** The model of the request. Parts of other models are dropped, because it could not read them. */
  readonly model?: string | undefined;
}

/**
 * The content of an assistant message: prose except white space, calls, and between them the parts that the provider
 * needs back. Incomplete calls are dropped, because their input cannot be sent. Pure.
 */
export function saidParts(message: ModelMessage, options: SaidPartsOptions): readonly SaidPart[] {
  const { text, parts: kept = [] } = message;
  const said: SaidPart[] = [];
  let from = 0;
  for (const part of kept) {
    if (part.model !== options.model || part.at < from || part.at > text.length) continue;
    const before = spokenParts(text.slice(from, part.at), options);
    from = part.at;
    if (part.type === 'text') said.push(...signed(before, part.meta));
    else said.push(...before, { type: 'reasoning', text: part.text ?? '', ...optionsOf(part.meta) });
  }
  said.push(...spokenParts(text.slice(from), options));
  const parts = said.filter((part) => part.type !== 'reasoning' || isWanted(part, said));
  // Reasoning leads to what follows. No provider accepts it at the end.
  while (parts.at(-1)?.type === 'reasoning') parts.pop();
  const last = parts.at(-1);
  if (options.isAnthropic && last?.type === 'text')
    parts[parts.length - 1] = { ...last, text: last.text.trimEnd() };
  return parts;
}

const optionsOf = (meta: ProviderPart['meta']) =>
  meta === undefined ? {} : { providerOptions: meta as ProviderOptions };

/** Attaches metadata to the text that ends here. Google signs empty texts, too. */
function signed(parts: readonly SaidPart[], meta: ProviderPart['meta']): readonly SaidPart[] {
  const last = parts.at(-1);
  if (last?.type === 'text') return [...parts.slice(0, -1), { ...last, ...optionsOf(meta) }];
  const isSignature = isMap(meta?.google) && meta.google.thoughtSignature !== undefined;
  return isSignature ? [...parts, { type: 'text', text: '', ...optionsOf(meta) }] : parts;
}

/**
 * Reasoning without a signature is only needed together with the calls it led to (DeepSeek, Kimi). OpenAI's reasoning,
 * which is not stored there, needs its encrypted content.
 */
function isWanted(
  part: Extract<SaidPart, { readonly type: 'reasoning' }>,
  all: readonly SaidPart[],
): boolean {
  const meta = part.providerOptions;
  if (meta === undefined) return all.some(({ type }) => type === 'tool-call');
  return Object.entries(meta).every(([name, { itemId }]) => {
    if (typeof itemId !== 'string') return true;
    return all.some(({ providerOptions }) => {
      const other = providerOptions?.[name];
      return other?.itemId === itemId && typeof other.reasoningEncryptedContent === 'string';
    });
  });
}

/** Splits the output into prose and calls. */
function spokenParts(said: string, { hasTools }: SaidPartsOptions): readonly SaidPart[] {
  const text = hasTools || !said.includes(FRAME_MARK) ? said : inWords(said);
  const parts: SaidPart[] = [];
  for (const part of readTurnParts(text)) {
    if (part.type === 'text') {
      if (part.text.trim() !== '') parts.push(part);
    } else if (part.type === 'call' && part.id !== '' && part.name !== '')
      parts.push({
        type: 'tool-call',
        toolCallId: part.id,
        toolName: part.name,
        input: readInput(part.input),
        ...optionsOf(part.meta),
      });
  }
  return parts;
}

const inWords = (said: string): string =>
  readTurnParts(said)
    .flatMap((part) =>
      part.type === 'text'
        ? [part.text]
        : part.type === 'call'
          ? [`[called ${part.name}: ${part.input}]`]
          : [],
    )
    .join('\n');

/**
 * Providers need an object, even if the model wrote something else. So other input is wrapped. The request is then
 * valid, and the model still sees what it wrote.
 */
function readInput(input: string): JsonObject {
  try {
    const value: Json = JSON.parse(input);
    if (isMap(value)) return value as JsonObject;
  } catch {
    // wrapped below
  }
  return { not_a_json_object: input };
}
