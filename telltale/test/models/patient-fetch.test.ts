import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { createProviderModel } from '../../src/models/providers/create-provider-model.ts';
import { ask } from './collect.ts';

/** The names under which Node's `fetch` keeps its global dispatcher. */
const NAMES = [Symbol.for('undici.globalDispatcher.1'), Symbol.for('undici.globalDispatcher.2')];
const globals = globalThis as unknown as Record<symbol, Dispatcher | undefined>;

interface Dispatcher {
  dispatch(options: object, handler: object): boolean;
  readonly constructor: new (options: object) => Dispatcher;
}

let restore = () => {};
afterEach(() => restore());

/** As if the five minutes of Node's `fetch` were a tenth of a second. */
async function hurryFetch(): Promise<void> {
  void globalThis.Request; // Node loads what sets them with the first look at a part of it
  const before = NAMES.map((name) => [name, globals[name]] as const);
  for (const [name, dispatcher] of before)
    if (dispatcher !== undefined)
      globals[name] = new dispatcher.constructor({ headersTimeout: 100, bodyTimeout: 100 });
  restore = () => {
    for (const [name, dispatcher] of before) globals[name] = dispatcher;
  };
}

it('a model may be silent for longer than fetch waits, before its answer and in it', async () => {
  const frame = (delta: object, finish: string | null) =>
    `data: ${JSON.stringify({ id: '1', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  const server = createServer((_, response) => {
    setTimeout(() => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      setTimeout(() => response.end(frame({ content: 'At last.' }, null) + frame({}, 'stop')), 2_000);
    }, 2_000);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await hurryFetch();
  try {
    await expect(fetch(url)).rejects.toMatchObject({ cause: { code: 'UND_ERR_HEADERS_TIMEOUT' } });
    const model = await createProviderModel('openai-compatible/m', {
      env: { OPENAI_COMPATIBLE_BASE_URL: url },
    });
    const { deltas, end } = ask(model);
    await end;
    expect(deltas.join('')).toBe('At last.');
  } finally {
    server.close();
    server.closeAllConnections();
  }
});
