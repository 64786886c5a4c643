import type { Json } from '../../kernel/json.ts';
import type { ErrorJson } from '../../kernel/runtime-error.ts';
import { ATTR } from '../conventions.ts';
import type { AttributeValue, SpanEvent, SpanLink, SpanRecord } from './span-record.ts';

/** A span that has not ended. */
export interface OpenSpan {
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: SpanRecord['kind'];
  readonly startAt: number;
  readonly attributes: Record<string, AttributeValue>;
  readonly events: SpanEvent[];
  droppedEvents: number;
  readonly links: readonly SpanLink[];
}

export interface OpenSpanOptions {
  readonly spanId: string;
  readonly parentSpanId?: string | undefined;
  readonly name: string;
  readonly kind?: SpanRecord['kind'];
  readonly startAt: number;
  readonly attributes: Readonly<Record<string, AttributeValue | undefined>>;
  readonly links?: readonly SpanLink[];
}

/** What of it happened on the way that a span keeps. */
const MAX_EVENTS = 128;
/** Characters of an attribute that quotes contents, and of any other. */
const MAX_CONTENT = 8_192;
const MAX_VALUE = 512;

export function openSpan(options: OpenSpanOptions): OpenSpan {
  const { spanId, parentSpanId, name, kind = 'internal', startAt, links = [] } = options;
  const attributes: Record<string, AttributeValue> = {};
  const span = { spanId, parentSpanId, name, kind, startAt, attributes, events: [], droppedEvents: 0, links };
  describe(span, options.attributes);
  return span;
}

/** Adds attributes; those that are undefined or empty are left out. */
export function describe(
  { attributes }: Pick<OpenSpan, 'attributes'>,
  more: Readonly<Record<string, AttributeValue | undefined>>,
): void {
  for (const key in more) {
    const value = more[key];
    if (value === undefined || value === '') continue;
    attributes[key] =
      typeof value === 'string' && value.length > MAX_VALUE && !CONTENTS.has(key)
        ? value.slice(0, MAX_VALUE)
        : value;
  }
}

export function note(
  span: OpenSpan,
  name: string,
  at: number,
  attributes: Readonly<Record<string, AttributeValue | undefined>> = {},
): void {
  if (span.events.length >= MAX_EVENTS) {
    span.droppedEvents++;
    return;
  }
  const own: { attributes: Record<string, AttributeValue> } = { attributes: {} };
  describe(own, attributes);
  span.events.push({ name, at, attributes: own.attributes });
}

/** How a span ended; `message` only where contents may be told. */
export interface SpanEnd {
  readonly at: number;
  readonly error?: Pick<ErrorJson, 'code' | 'message'> | undefined;
  readonly tellMessage?: boolean;
}

export function ended(
  span: OpenSpan,
  traceId: string,
  { at, error, tellMessage = false }: SpanEnd,
): SpanRecord {
  const { parentSpanId, ...own } = span;
  if (error !== undefined) describe(span, { [ATTR.errorType]: error.code });
  return {
    ...own,
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    traceId,
    // A machine's clock may have been set back meanwhile.
    endAt: Math.max(at, span.startAt),
    ...(error === undefined
      ? {}
      : { error: tellMessage ? { message: error.message.slice(0, MAX_VALUE) } : {} }),
  };
}

/** A value as content of an attribute, cut to a bounded size. */
export function contentOf(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text.length > MAX_CONTENT ? `${text.slice(0, MAX_CONTENT)}…` : text;
}

/** A value of an enum field. */
export const plain = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** A message as the conventions write it. */
export const messageOf = (role: 'user' | 'assistant', text: unknown): string =>
  JSON.stringify([{ role, parts: [{ type: 'text', content: contentOf(text) }] }]);

const CONTENTS: ReadonlySet<string> = new Set([
  ATTR.inputMessages,
  ATTR.outputMessages,
  ATTR.toolArguments,
  ATTR.toolResult,
]);
