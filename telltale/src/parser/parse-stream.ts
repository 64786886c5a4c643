import { RuntimeError } from '../lib/errors.ts';
import type { ParserEvent } from './intents.ts';
import { checkOptions } from './parser-options.ts';
import { createTagParser, type TagParserOptions } from './tags/tag-parser.ts';

type ParseStreamEventOf<Type extends ParserEvent['type']> = Extract<ParserEvent, { readonly type: Type }>;

/** `onAction`, `onMetadata`, `onDelta`, … for each type of event, and `onEvent` for all of them, called first. */
export type StreamHandlers = {
  readonly [Type in ParserEvent['type'] as `on${Capitalize<Type>}`]?: (
    event: ParseStreamEventOf<Type>,
  ) => void;
} & { readonly onEvent?: (event: ParserEvent) => void };

export interface ParseStreamOptions extends TagParserOptions, StreamHandlers {
  /** Stops reading; the promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** One for each type, so that a new type does not compile without its own. */
const HANDLERS: { readonly [Name in keyof Required<StreamHandlers>]: true } = {
  onEvent: true,
  onText: true,
  onOpen: true,
  onDelta: true,
  onClose: true,
  onAction: true,
  onMetadata: true,
  onVariables: true,
  onIf: true,
  onForeach: true,
  onParallel: true,
  onFault: true,
};
const OTHER_OPTIONS: readonly string[] = ['signal', ...Object.keys(HANDLERS)];

/**
 * Reads a model's stream of text and calls the handlers as each event becomes certain: an action's while the model is
 * still writing what comes after it. Handlers are called synchronously, in order; what they return is not awaited. One
 * that throws ends the reading, and the source is told to stop.
 */
export async function parseStream(
  source: AsyncIterable<string> | Iterable<string>,
  options: ParseStreamOptions = {},
): Promise<void> {
  checkOptions('parseStream', options, OTHER_OPTIONS);
  const parser = createTagParser(options);
  const { signal } = options;
  for await (const chunk of signal === undefined ? source : untilAborted(source, signal)) {
    if (typeof chunk !== 'string') throw notText(chunk);
    for (const event of parser.push(chunk)) {
      deliver(event, options);
      signal?.throwIfAborted(); // a handler may have had enough
    }
  }
  for (const event of parser.end()) deliver(event, options);
}

/** The same, but for a source that is silent: that is not waited for any more once the signal has gone off. */
async function* untilAborted(
  source: AsyncIterable<string> | Iterable<string>,
  signal: AbortSignal,
): AsyncGenerator<string, void> {
  const chunks = Symbol.asyncIterator in Object(source) ? source : inTurn(source as Iterable<string>);
  const iterator = (chunks as AsyncIterable<string>)[Symbol.asyncIterator]();
  let giveUp: ((reason: unknown) => void) | undefined;
  const aborted = () => giveUp?.(signal.reason);
  const next = () =>
    new Promise<IteratorResult<string>>((resolve, reject) => {
      giveUp = reject;
      iterator.next().then(resolve, reject);
    });
  signal.addEventListener('abort', aborted, { once: true });
  let isDone = false;
  try {
    while (!signal.aborted) {
      const { done, value } = await next();
      isDone = done === true;
      if (isDone) break;
      if (!signal.aborted) yield value;
    }
    signal.throwIfAborted();
  } finally {
    signal.removeEventListener('abort', aborted);
    if (!isDone) await told(iterator, signal);
  }
}

/** Tells a source to stop. One that may be in the middle of waiting is not waited for: a generator would not hear of it. */
async function told(iterator: AsyncIterator<string>, signal: AbortSignal): Promise<void> {
  const stopping = Promise.resolve(iterator.return?.());
  if (signal.aborted)
    stopping.catch(() => undefined); // the signal's reason is what is told
  else await stopping;
}

async function* inTurn(source: Iterable<string>): AsyncGenerator<string, void> {
  yield* source;
}

/** A body of fetch is bytes; and what is no text would be passed over in silence, or fail somewhere in the parser. */
const notText = (chunk: unknown) =>
  new RuntimeError(
    'bad_option',
    `parseStream was given a stream of something else than text: ${ArrayBuffer.isView(chunk) ? 'bytes' : typeof chunk}.`,
    {
      hint: 'Give pieces of text. Bytes are decoded first: response.body.pipeThrough(new TextDecoderStream()).',
    },
  );

function deliver(event: ParserEvent, handlers: StreamHandlers): void {
  handlers.onEvent?.(event);
  switch (event.type) {
    case 'text':
      handlers.onText?.(event);
      return;
    case 'open':
      handlers.onOpen?.(event);
      return;
    case 'delta':
      handlers.onDelta?.(event);
      return;
    case 'close':
      handlers.onClose?.(event);
      return;
    case 'action':
      handlers.onAction?.(event);
      return;
    case 'metadata':
      handlers.onMetadata?.(event);
      return;
    case 'variables':
      handlers.onVariables?.(event);
      return;
    case 'if':
      handlers.onIf?.(event);
      return;
    case 'foreach':
      handlers.onForeach?.(event);
      return;
    case 'parallel':
      handlers.onParallel?.(event);
      return;
    case 'fault':
      handlers.onFault?.(event);
      return;
  }
}
