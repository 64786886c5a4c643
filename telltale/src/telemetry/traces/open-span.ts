import { hash } from 'node:crypto';
import type { InvokeRecord } from '../../lib/calls.ts';
import type { ErrorJson } from '../../lib/errors.ts';
import type { Json } from '../../lib/json.ts';
import type { EventOf } from '../../log/event.ts';
import { ATTR, type ModelName, OPERATION } from '../conventions.ts';
import type { OpenStreams } from '../open-streams.ts';

export function declareAction(
  { streams }: SpanFoldDeps,
  own: TracedSession,
  { session, turn, seq, at, action }: EventOf<'action.declared'>,
): void {
  if (own.actions.has(action.id)) return;
  streams.grow(own, 1);
  const span = actionSpan(own, session, action.id, at, action.name);
  describe(span, {
    'telltale.kind': action.kind,
    'telltale.mode': action.mode,
    'telltale.group': action.group,
    'telltale.turn': turn,
    'telltale.seq': seq,
  });
  own.actions.set(action.id, { span, declaredAt: at, attempts: 0 });
}

const actionSpan = (own: TracedSession, session: string, id: string, at: number, name?: string): OpenSpan =>
  openSpan({
    spanId: partSpanId(session, id),
    parentSpanId: own.span.spanId,
    name: name === undefined ? OPERATION.tool : `${OPERATION.tool} ${name}`,
    startAt: at,
    attributes: {
      [ATTR.operation]: OPERATION.tool,
      [ATTR.conversationId]: session,
      [ATTR.agentName]: own.agent,
      [ATTR.toolName]: name,
      [ATTR.toolType]: 'function',
      [ATTR.toolCallId]: id,
    },
  });

/** One that was declared where nobody looked on, in a session that was taken up since: what it calls is not known. */
function unseenAction(
  { streams }: SpanFoldDeps,
  own: TracedSession,
  session: string,
  id: string,
  at: number,
) {
  if (!own.resumed) return undefined;
  streams.grow(own, 1);
  const span = actionSpan(own, session, id, at);
  describe(span, { 'telltale.resumed': true });
  const action: TracedAction = { span, declaredAt: at, attempts: 0 };
  own.actions.set(id, action);
  return action;
}

/** The span is of the work: the time before it, for dependencies and a free slot, is an attribute. */
export function startAction(
  deps: SpanFoldDeps,
  own: TracedSession,
  { session, id, attempt, input, at }: EventOf<'action.started'>,
): void {
  const action = own.actions.get(id) ?? unseenAction(deps, own, session, id, at);
  if (action === undefined) return;
  if (action.attempts === 0) {
    action.span = { ...action.span, startAt: at };
    describe(action.span, {
      'telltale.wait_ms': Math.max(0, at - action.declaredAt),
      [ATTR.toolArguments]: deps.contents ? contentOf(input) : undefined,
    });
  } else note(action.span, 'action.started', at, { 'telltale.attempt': attempt });
  action.attempts = attempt;
}

export function retryAction(own: TracedSession, event: EventOf<'action.retrying'>): void {
  const action = own.actions.get(event.id);
  if (action === undefined) return;
  note(action.span, event.type, event.at, {
    'telltale.attempt': event.attempt,
    'telltale.delay_ms': event.delay_ms,
    [ATTR.errorType]: event.error.code,
  });
}

export interface ActionEnd {
  readonly at: number;
  readonly status: string;
  /** How long it took, for one whose start nobody has seen. */
  readonly ms?: number;
  readonly reason?: string;
  readonly output?: Json;
  readonly error?: Pick<ErrorJson, 'code' | 'message'>;
}

export function endAction(
  deps: SpanFoldDeps,
  own: TracedSession,
  { session, id }: { readonly session: string; readonly id: string },
  { at, status, ms = 0, reason, output, error }: ActionEnd,
): void {
  const { streams, emit, contents } = deps;
  const action = own.actions.get(id) ?? unseenAction(deps, own, session, id, at - ms);
  if (action === undefined) return;
  own.actions.delete(id);
  streams.grow(own, -1);
  describe(action.span, {
    'telltale.status': status,
    'telltale.reason': reason,
    'telltale.attempts': action.attempts,
    [ATTR.toolResult]: contents && output !== undefined ? contentOf(output) : undefined,
  });
  emit(ended(action.span, own.traceId, { at, error, tellMessage: contents }));
}

/** A question to an artifact, whose event comes with the answer. */
export const invokeSpan = (
  stream: string,
  event: InvokeRecord & { readonly seq: number; readonly at: number },
  parentSpanId: string,
): OpenSpan =>
  openSpan({
    spanId: eventSpanId(stream, event.seq),
    parentSpanId,
    name: `invoke_artifact ${event.artifact}.${event.method}`,
    startAt: event.at - event.ms,
    attributes: {
      'telltale.artifact': event.artifact,
      'telltale.artifact.version': event.version,
      'telltale.method': event.method,
      'telltale.where': event.where,
      'telltale.cached': event.cached,
      'telltale.fallback': event.fallback?.reason,
      'telltale.charged': event.cost,
      'telltale.seq': event.seq,
    },
  });

/**
 * Trace and span ids are hashes of what the log calls things by: whoever reads the same events, in this process, after a
 * restart or on another machine, gives the same span the same id and names the same parent.
 */
const idOf = (text: string, chars: number): string =>
  hash('sha256', `telltale ${text}`, 'hex').slice(0, chars);

/** `root`: the session or run that nobody called. */
export const traceIdOf = (root: string): string => idOf(`trace ${root}`, 32);

/** Of a session or run. */
export const streamSpanId = (stream: string): string => idOf(`span ${stream}`, 16);

/** Of an action of a session or a step of a run, by its id or address. */
export const partSpanId = (stream: string, part: string): string => idOf(`span ${stream}\n${part}`, 16);

export const turnSpanId = (stream: string, turn: number): string => idOf(`turn ${turn} ${stream}`, 16);

/** Of an event that has a span to itself. */
export const eventSpanId = (stream: string, seq: number): string => idOf(`event ${seq} ${stream}`, 16);

/** Who calls a session or run: a part of a stream, or the stream itself. */
export interface Caller {
  readonly stream: string;
  readonly part?: string;
}

export const callerSpanId = ({ stream, part }: Caller): string =>
  part === undefined ? streamSpanId(stream) : partSpanId(stream, part);

/**
 * The caller as the id has it: `ses_1.fetch~2` is the second try of action `fetch` of `ses_1`, `run_1.build` of step
 * `build`, `ses_1~lead` the run that leads `ses_1`. For streams whose first event nobody has seen.
 */
export function callerIn(stream: string): Caller | undefined {
  const bare = stream.replace(/[~#]\d+$/, '');
  const at = Math.max(bare.lastIndexOf('.'), bare.lastIndexOf('~'));
  if (at <= 0) return undefined;
  const part = bare.slice(at + 1);
  // Runs that feeds ask for are nobody's action.
  return { stream: bare.slice(0, at), ...(bare[at] === '.' && !part.startsWith('feed:') ? { part } : {}) };
}

/** The stream that nobody called, as the id has it. */
export const rootIn = (stream: string): string => /^[^.~]+/.exec(stream)?.[0] ?? stream;

export interface SpanFoldOptions {
  readonly emit: (span: SpanRecord) => void;
  /** Whether spans quote what was said and done: prompts, parameters, results, messages of errors. */
  readonly contents: boolean;
}

/** What sessions and runs need of each other. */
export interface SpanFoldDeps extends SpanFoldOptions {
  readonly streams: OpenStreams<TracedStream>;
  /** The session or run at the top of a stream's trace. */
  rootOf(stream: string): string;
}

/** What is open of a session. */
export interface TracedSession {
  readonly kind: 'session';
  size: number;
  readonly root: string;
  readonly traceId: string;
  readonly agent: string;
  readonly model: ModelName | undefined;
  /** The enum fields of its metadata. */
  readonly states: readonly string[];
  readonly span: OpenSpan;
  /** Whether it was taken up in the middle of its life: not all that is open in it has been seen. */
  resumed: boolean;
  turn: OpenSpan | undefined;
  /** What the model has said in the turn, where contents are told. */
  said: string;
  readonly actions: Map<string, TracedAction>;
  readonly used: { turns: number; input: number; output: number; cost: number };
}

export interface TracedAction {
  /** From its declaration on; its first start makes another of it. */
  span: OpenSpan;
  readonly declaredAt: number;
  attempts: number;
}

/** What is open of a run. */
export interface TracedRun {
  readonly kind: 'run';
  size: number;
  readonly root: string;
  readonly traceId: string;
  readonly workflow: string;
  readonly span: OpenSpan;
  resumed: boolean;
  readonly steps: Map<string, OpenSpan>;
}

export type TracedStream = TracedSession | TracedRun;

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
function contentOf(value: unknown): string {
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

export type AttributeValue = string | number | boolean | readonly string[];
export type Attributes = Readonly<Record<string, AttributeValue>>;

export interface SpanEvent {
  readonly name: string;
  readonly at: number;
  readonly attributes: Attributes;
}

export interface SpanLink {
  readonly traceId: string;
  readonly spanId: string;
  readonly attributes: Attributes;
}

/** A span that has ended, without anything of OpenTelemetry's packages. Times are milliseconds since the Unix epoch. */
export interface SpanRecord {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  /** `client`: a request to a model; else work of this process. */
  readonly kind: 'client' | 'internal';
  readonly startAt: number;
  readonly endAt: number;
  readonly attributes: Attributes;
  readonly events: readonly SpanEvent[];
  readonly droppedEvents: number;
  readonly links: readonly SpanLink[];
  /** Set where it failed; what it says beyond the code may quote contents. */
  readonly error?: { readonly message?: string };
}
