import type { Model, ModelEnd, ModelMessage, ModelRequest } from '../../src/models/model.ts';

export interface Collected {
  readonly deltas: string[];
  readonly reasoning: string[];
  /** What `stream` resolved with. */
  readonly end: Promise<ModelEnd>;
  /** What it rejected with. */
  readonly error: Promise<unknown>;
  readonly abort: () => void;
}

export interface Asked extends Partial<Omit<ModelRequest, 'messages'>> {
  readonly messages?: readonly ModelMessage[];
  readonly onText?: (delta: string, abort: () => void) => void;
}

/** Calls a model and keeps what it says. */
export function ask(model: Model, asked: Asked = {}): Collected {
  const { onText, ...request } = asked;
  const aborter = new AbortController();
  const deltas: string[] = [];
  const reasoning: string[] = [];
  const abort = () => aborter.abort();
  const end = model.stream(
    {
      system: 'You are terse.',
      messages: [{ role: 'user', text: 'hello' }],
      turn: 1,
      signal: aborter.signal,
      ...request,
    },
    {
      text: (delta) => {
        deltas.push(delta);
        onText?.(delta, abort);
      },
      reasoning: (delta) => reasoning.push(delta),
    },
  );
  const error = end.then(
    (ended) => {
      throw new Error(`The model ended with ${JSON.stringify(ended)}, not with an error.`);
    },
    (thrown: unknown) => thrown,
  );
  error.catch(() => {});
  return { deltas, reasoning, end, error, abort };
}
