import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createSlowPipe, type Pace, type SlowPipe } from './slow-pipe.ts';

/** A line between a process and a server on loopback, and all that can go wrong with one. */
export interface FaultProxy {
  readonly port: number;
  connections(): number;
  /** Ends one connection as a pulled plug does, in the middle of whatever it carries: `pick` says which. */
  cutOne(pick: number): void;
  cutAll(): void;
  /** Cuts, and turns away who comes, until `calm`. */
  refuse(): void;
  /**
   * Nothing goes through any more in one direction, or in both, and nobody is told: who asks waits, and what was done
   * is not answered. New connections fare the same. `calm` cuts those that were held.
   */
  silence(which: Silence): void;
  /** What comes from now on is carried on later, or a few bytes at a time, until `calm`. */
  slow(pace: Pace): void;
  calm(): void;
  close(): Promise<void>;
}

/** `asking`: the server hears nothing. `answers`: it does what it is asked, and its answers are lost. */
export type Silence = 'asking' | 'answers' | 'both';

interface Line {
  readonly near: Socket;
  readonly far: Socket;
  readonly pipes: readonly SlowPipe[];
  /** Something of it may have been swallowed: it can only be cut. */
  spoilt: boolean;
}

export async function openFaultProxy(to: number): Promise<FaultProxy> {
  const lines = new Set<Line>();
  let refuses = false;
  let silence: Silence | undefined;
  let pace: Pace | undefined;

  const cut = (line: Line) => {
    for (const pipe of line.pipes) pipe.close();
    for (const socket of [line.near, line.far]) socket.resetAndDestroy();
  };
  const join = (near: Socket) => {
    if (refuses) return void near.resetAndDestroy();
    const far = connect(to, '127.0.0.1');
    for (const socket of [near, far]) socket.setNoDelay(true);
    const pipes = [createSlowPipe(far), createSlowPipe(near)] as const;
    const line: Line = { near, far, pipes, spoilt: silence !== undefined };
    lines.add(line);
    const carry = (from: Socket, pipe: SlowPipe, lostWhen: Silence) => {
      from.on('data', (bytes) => {
        if (silence === lostWhen || silence === 'both') line.spoilt = true;
        else pipe.push(bytes, pace);
      });
      from.on('end', () => pipe.end());
      // Cutting is what it is for: the ends learn of it by their own errors.
      from.on('error', () => cut(line));
      from.on('close', () => {
        lines.delete(line);
        pipe.end();
      });
    };
    carry(near, pipes[0], 'asking');
    carry(far, pipes[1], 'answers');
  };

  const server = createServer(join);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cutAll = () => {
    for (const line of [...lines]) cut(line);
  };
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => lines.size,
    cutOne(pick) {
      const line = [...lines][pick % Math.max(1, lines.size)];
      if (line !== undefined) cut(line);
    },
    cutAll,
    refuse() {
      refuses = true;
      cutAll();
    },
    silence(which) {
      silence = which;
    },
    slow(how) {
      pace = how;
    },
    calm() {
      [refuses, silence, pace] = [false, undefined, undefined];
      for (const line of [...lines]) if (line.spoilt) cut(line);
    },
    async close() {
      cutAll();
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
}
