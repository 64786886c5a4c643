import type { AddressInfo } from 'node:net';
import { createConnection, createServer, type Socket } from 'node:net';
import { type PostgresServer, startPostgres } from './start-postgres.ts';

export interface ServerBroker {
  readonly port: number;
  close(): Promise<void>;
}

type Reply = { readonly url: string } | { readonly error: string };

/**
 * Starts the PostgreSQL of a test run when the first test asks for it, whichever process that is in, and stops it when
 * the run is over.
 */
export async function openServerBroker(): Promise<ServerBroker> {
  let postgres: Promise<PostgresServer> | undefined;
  const answer = async (socket: Socket): Promise<void> => {
    postgres ??= startPostgres();
    const reply: Reply = await postgres.then(
      ({ url }) => ({ url }),
      (error: unknown) => ({ error: String(error) }),
    );
    socket.end(JSON.stringify(reply));
  };
  const server = createServer((socket) => {
    socket.on('error', () => undefined); // whoever asked has gone
    void answer(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      await new Promise((resolve) => server.close(resolve));
      const started = await postgres?.catch(() => undefined);
      await started?.stop();
    },
  };
}

/** The address of the run's PostgreSQL. */
export function askBroker(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    createConnection(port, '127.0.0.1')
      .on('data', (chunk) => {
        text += chunk.toString();
      })
      .on('error', reject)
      .on('end', () => {
        const reply = JSON.parse(text) as Reply;
        if ('url' in reply) resolve(reply.url);
        else reject(new Error(reply.error));
      });
  });
}
