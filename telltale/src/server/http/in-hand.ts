import type { ServerResponse } from 'node:http';
import type { Clock } from '../../kernel/clock.ts';

/** The requests that are being answered. */
export interface InHand {
  add(response: ServerResponse): void;
  /** Has every connection end with its answer. */
  closeAfterAnswers(): void;
  /** Resolves when none is left, or after `withinMs`. */
  settled(withinMs: number): Promise<void>;
  readonly count: number;
}

export function createInHand(clock: Pick<Clock, 'after'>): InHand {
  const responses = new Set<ServerResponse>();
  let onNone = (): void => undefined;
  return {
    add(response) {
      responses.add(response);
      response.once('close', () => {
        responses.delete(response);
        if (responses.size === 0) onNone();
      });
    },
    closeAfterAnswers() {
      for (const response of responses) response.shouldKeepAlive = false;
    },
    async settled(withinMs) {
      if (responses.size === 0) return;
      await new Promise<void>((resolve) => {
        const cancel = clock.after(withinMs, resolve);
        onNone = () => {
          cancel();
          resolve();
        };
      });
      onNone = () => undefined;
    },
    get count() {
      return responses.size;
    },
  };
}
