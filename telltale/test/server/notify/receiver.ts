import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished } from 'vitest';

export interface Received {
  readonly id: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Readonly<Record<string, unknown>>;
}

export type Reply =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string }
  /** Never answers. */
  | 'silence';

export interface Receiver {
  readonly url: string;
  readonly received: readonly Received[];
  /** What comes next is answered so, one after the other; then by 200. */
  reply(...replies: readonly Reply[]): void;
  /** Called with each request before it is answered. */
  during: () => void;
}

export const SECRET = `whsec_${Buffer.from('twenty-four bytes of key').toString('base64')}`;

/** A real HTTP server that takes webhooks, and checks each as the specification says. */
export async function openReceiver(secret = SECRET): Promise<Receiver> {
  const received: Received[] = [];
  const replies: Reply[] = [];
  const receiver = {
    url: '',
    received,
    during: () => undefined,
    reply: (...more: readonly Reply[]) => replies.push(...more),
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8');
      const { headers } = request;
      const id = String(headers['webhook-id']);
      const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
      const expected = createHmac('sha256', key)
        .update([id, headers['webhook-timestamp'], text].join('.'))
        .digest('base64');
      received.push({ id, headers, body: JSON.parse(text) });
      receiver.during();
      expect.soft(headers['webhook-signature']).toBe(`v1,${expected}`);
      const reply = replies.shift() ?? { status: 200 };
      if (reply === 'silence') return;
      response.writeHead(reply.status, { ...reply.headers });
      response.end(reply.body ?? '');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/in`;
  return receiver;
}
