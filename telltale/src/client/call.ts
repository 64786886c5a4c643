import type { Json } from '../kernel/json.ts';
import { type ErrorJson, RuntimeError } from '../kernel/runtime-error.ts';
import type { CallOptions, ClientOptions } from './client.ts';

/** What stands behind the `?`. What is undefined is left out; lists have commas between their items. */
export type Query = Readonly<Record<string, string | number | readonly string[] | undefined>>;

export interface Request extends CallOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Encoded. Empty where a name in it is none. */
  readonly path: string;
  readonly query?: Query;
  readonly body?: Json | object;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Caller {
  /** Sends a request. Rejects with `server_unreachable`, or with the signal's reason. */
  send(request: Request): Promise<Response>;
  /** Sends it and reads the answer. Rejects with the server's own error where it is none. */
  json<Answer>(request: Request): Promise<Answer>;
  /** The same where there is nothing to read. */
  done(request: Request): Promise<void>;
}

export function createCaller({ url, token, fetch: given }: ClientOptions): Caller {
  const base = (url ?? pageOrigin()).replace(/\/+$/, '');
  // A browser's own wants to be called as the window's.
  const fetchIt = given ?? ((...args: Parameters<typeof fetch>) => fetch(...args));

  const send = async ({
    method = 'GET',
    path,
    query = {},
    body,
    headers,
    signal,
    idempotencyKey,
  }: Request) => {
    if (path === '') throw badName();
    const address = `${base}${path}${queryText(query)}`;
    try {
      return await fetchIt(address, {
        method,
        headers: {
          accept: 'application/json',
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (thrown) {
      signal?.throwIfAborted();
      throw unreachable(base, thrown);
    }
  };
  const mustSucceed = async (request: Request): Promise<Response> => {
    const answer = await send(request);
    // Not ready is an answer, too.
    if (!answer.ok && !(answer.status === 503 && request.path === '/readyz')) throw await errorOf(answer);
    return answer;
  };

  return {
    send,
    async json<Answer>(request: Request) {
      const answer = await mustSucceed(request);
      try {
        return (await answer.json()) as Answer;
      } catch (thrown) {
        request.signal?.throwIfAborted();
        throw unreadable(request.path, answer.status, thrown);
      }
    },
    async done(request) {
      await (await mustSucceed(request)).arrayBuffer(); // frees the connection
    },
  };
}

/** The error that an answer says; one of our own where it is no answer of such a server. */
export async function errorOf(answer: Response): Promise<RuntimeError> {
  const text = await answer.text().catch(() => '');
  try {
    const { error, changes } = JSON.parse(text) as {
      readonly error?: Partial<ErrorJson>;
      readonly changes?: unknown;
    };
    if (typeof error?.code === 'string' && typeof error.message === 'string') {
      const { hint, retryable } = error;
      const found = new RuntimeError(error.code, error.message, { hint, retryable: retryable === true });
      return changes === undefined ? found : Object.assign(found, { changes });
    }
  } catch {
    // no JSON: said below
  }
  return strangeAnswer(answer.status, text);
}

const queryText = (query: Query): string => {
  const given = Object.entries(query).flatMap(([key, value]) =>
    value === undefined
      ? []
      : [`${key}=${encodeURIComponent(Array.isArray(value) ? value.join(',') : String(value))}`],
  );
  return given.length === 0 ? '' : `?${given.join('&')}`;
};

function pageOrigin(): string {
  const { location } = globalThis as { readonly location?: { readonly origin: string } };
  if (location === undefined) throw urlMissing();
  return location.origin;
}

const urlMissing = () =>
  new RuntimeError('bad_option', 'createClient was not told where the server is.', {
    hint: 'Give its address: createClient({ url: "http://127.0.0.1:4800" }). Only a page of the server knows it.',
  });

const badName = () =>
  new RuntimeError(
    'name_malformed',
    'An id or name is empty, or is "." or "..", which no address can hold.',
    {
      hint: 'Give the id as the server gave it.',
    },
  );

const unreachable = (base: string, cause: unknown) =>
  new RuntimeError('server_unreachable', `The server at ${base} cannot be reached.`, {
    hint: 'Check that the server is running: telltale serve',
    retryable: true,
    cause,
  });

const unreadable = (path: string, status: number, cause: unknown) =>
  new RuntimeError('answer_unreadable', `The answer to ${path} (${status}) broke off or is no JSON.`, {
    hint: 'Look whether something stands between here and the server, a proxy say; then ask again.',
    retryable: true,
    cause,
  });

const MAX_SHOWN = 200;

const strangeAnswer = (status: number, text: string) =>
  new RuntimeError(
    'answer_unreadable',
    `The answer is ${status}, and says nothing that a Telltale server would: ${JSON.stringify(text.slice(0, MAX_SHOWN))}.`,
    {
      hint: 'Look whether the address is that of a Telltale server, and what stands in between.',
      retryable: status >= 500,
    },
  );
