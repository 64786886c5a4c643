import { createServer, type Server, type ServerResponse } from 'node:http';
import type { Emitter } from './emitter.ts';

const WINDOW_MS = 50;

/**
 * The floor: what a response of Node costs that is written to every 50 ms, with no resume, no limits and nothing said of
 * slow clients. Each session's events are encoded once.
 */
export function serve(emitter: Emitter): Server {
  const sessions = new Map<string, { pending: string; readonly clients: ServerResponse[] }>();
  setInterval(() => {
    for (const session of sessions.values()) {
      if (session.pending === '') continue;
      const data = session.clients.length === 1 ? session.pending : Buffer.from(session.pending);
      session.pending = '';
      for (const client of session.clients) client.write(data);
    }
  }, WINDOW_MS);
  return createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    response.flushHeaders();
    const name = request.url?.slice(1) ?? '';
    const found = sessions.get(name);
    if (found !== undefined) {
      found.clients.push(response);
      return;
    }
    const session = { pending: '', clients: [response] };
    sessions.set(name, session);
    emitter.subscribe(name, (event) => {
      const id = 'seq' in event ? `id: ${event.seq}\n` : '';
      session.pending += `${id}data: ${JSON.stringify(event)}\n\n`;
    });
  });
}
