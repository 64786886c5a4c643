import type { Socket } from 'node:net';

/** How slowly bytes are carried: so much later, and no more than so many at a time. */
export interface Pace {
  readonly ms: number;
  readonly bytes?: number;
}

/** Carries bytes to a socket in order, each piece at its time. */
export interface SlowPipe {
  push(bytes: Buffer, pace: Pace | undefined): void;
  /** Ends the socket behind what is still to be carried. */
  end(): void;
  close(): void;
}

/** What a slow line may hold; beyond it the line is cut. */
const MAX_HELD_BYTES = 64 * 1024 * 1024;

export function createSlowPipe(to: Socket): SlowPipe {
  const held: { readonly due: number; readonly bytes: Buffer }[] = [];
  let heldBytes = 0;
  let lastDue = 0;
  let ending = false;
  let timer: NodeJS.Timeout | undefined;

  const carry = () => {
    timer = undefined;
    const now = performance.now();
    for (let next = held[0]; next !== undefined && next.due <= now; next = held[0]) {
      held.shift();
      heldBytes -= next.bytes.length;
      if (to.writable) to.write(next.bytes);
    }
    const [next] = held;
    if (next !== undefined) timer = setTimeout(carry, Math.max(1, next.due - now));
    else if (ending) to.end();
  };
  const hold = (bytes: Buffer, due: number) => {
    lastDue = due;
    held.push({ due, bytes });
    heldBytes += bytes.length;
    if (heldBytes > MAX_HELD_BYTES) to.resetAndDestroy();
    timer ??= setTimeout(carry, Math.max(1, due - performance.now()));
  };

  return {
    push(bytes, pace) {
      if (pace === undefined && held.length === 0) {
        if (to.writable) to.write(bytes);
        return;
      }
      const { ms, bytes: size } = pace ?? { ms: 0 };
      const now = performance.now();
      if (size === undefined) return hold(bytes, Math.max(lastDue, now + ms));
      for (let at = 0; at < bytes.length; at += size)
        hold(bytes.subarray(at, at + size), Math.max(lastDue, now) + ms);
    },
    end() {
      ending = true;
      if (held.length === 0 && !to.destroyed) to.end();
    },
    close() {
      clearTimeout(timer);
      held.length = 0;
    },
  };
}
