import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readAll } from 'node:stream/consumers';
import { ANTHROPIC } from './wire/anthropic.ts';
import { GOOGLE } from './wire/google.ts';
import { OPENAI_CHAT } from './wire/openai-chat.ts';
import { OPENAI_RESPONSES } from './wire/openai-responses.ts';
import type { Usage, Wire } from './wire/wire.ts';
import type { Heard, ProviderName, Refusal, Utterance } from './words.ts';

export const WIRES: Readonly<Record<ProviderName, Wire>> = {
  'openai-chat': OPENAI_CHAT,
  'openai-responses': OPENAI_RESPONSES,
  anthropic: ANTHROPIC,
  google: GOOGLE,
};

export type Answer = { readonly say: Utterance; readonly usage: Usage } | { readonly refuse: Refusal };

/** What decides how requests are answered. */
export type Answerer = (heard: Heard, body: unknown) => Promise<Answer>;

/** The servers of all providers, on one port: each run of the lab has a path of its own. */
export interface ProviderHost {
  /** The address under which a run's requests are answered, until `close`. */
  open(wire: Wire, answer: Answerer): { readonly url: string; readonly close: () => void };
  close(): Promise<void>;
}

export async function startProviderHost(): Promise<ProviderHost> {
  const runs = new Map<string, { readonly wire: Wire; readonly answer: Answerer }>();
  let opened = 0;

  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const run = runs.get(request.url?.split('/')[1] ?? '');
    const body: unknown = JSON.parse(await readAll(request));
    if (run === undefined) {
      response.writeHead(404).end();
      return;
    }
    const answer = await run.answer(run.wire.read(body), body);
    if ('refuse' in answer) {
      const { status, body: why } = run.wire.refusal(answer.refuse);
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(why));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const frame of run.wire.frames(answer.say, answer.usage)) response.write(frame);
    if (answer.say.finish === 'broken') setImmediate(() => response.destroy());
    else response.end();
  };

  const server = createServer((request, response) => {
    respond(request, response).catch((thrown: unknown) => {
      response.destroy(thrown instanceof Error ? thrown : new Error(String(thrown)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    open(wire, answer) {
      const name = `run${++opened}`;
      runs.set(name, { wire, answer });
      return {
        url: `http://127.0.0.1:${port}/${name}/v1`,
        close: () => {
          runs.delete(name);
        },
      };
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
