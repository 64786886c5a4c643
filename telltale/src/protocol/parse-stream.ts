import type { ParserEvent } from './intents.ts';
import { createTagParser, type TagParserOptions } from './tags/tag-parser.ts';

type EventOf<Type extends ParserEvent['type']> = Extract<ParserEvent, { readonly type: Type }>;

/** `onAction`, `onMetadata`, `onDelta`, … for each type of event, and `onEvent` for all of them, called first. */
export type StreamHandlers = {
  readonly [Type in ParserEvent['type'] as `on${Capitalize<Type>}`]?: (event: EventOf<Type>) => void;
} & { readonly onEvent?: (event: ParserEvent) => void };

export interface ParseStreamOptions extends TagParserOptions, StreamHandlers {
  /** Stops reading; the promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/**
 * Reads a model's stream of text and calls the handlers as each event becomes certain: an action's while the model is
 * still writing what comes after it. Handlers are called synchronously, in order; what they return is not awaited. One
 * that throws ends the reading, and the source is told to stop.
 */
export async function parseStream(
  source: AsyncIterable<string> | Iterable<string>,
  options: ParseStreamOptions = {},
): Promise<void> {
  const parser = createTagParser(options);
  const { signal } = options;
  for await (const chunk of source) {
    signal?.throwIfAborted();
    for (const event of parser.push(chunk)) deliver(event, options);
  }
  signal?.throwIfAborted();
  for (const event of parser.end()) deliver(event, options);
}

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
