import type { ServerResponse } from 'node:http';
import type { Clock } from '../../kernel/clock.ts';
import type { Tokens } from '../auth/tokens.ts';

/** Looks after answers that take long, such as streams: one whose token was revoked is cut off. */
export interface TokenWatch {
  /** Until the response is over. */
  add(token: string, response: ServerResponse): void;
}

/** How often the tokens of open answers are looked up: each once, whatever the number of its answers. */
const LOOK_MS = 5_000;

export function createTokenWatch(tokens: Pick<Tokens, 'check'>, clock: Pick<Clock, 'after'>): TokenWatch {
  const open = new Map<string, Set<ServerResponse>>();
  let disarm: (() => void) | undefined;

  const arm = () => {
    disarm ??= clock.after(LOOK_MS, () => {
      disarm = undefined;
      void look();
    });
  };
  const look = async (): Promise<void> => {
    await Promise.all(
      [...open].map(async ([token, responses]) => {
        // A store that does not answer has revoked nothing: the next look may find out.
        const isRevoked = await tokens.check(token).then(
          (caller) => caller === undefined,
          () => false,
        );
        if (isRevoked) for (const response of responses) response.destroy();
      }),
    );
    if (open.size > 0) arm();
  };

  return {
    add(token, response) {
      if (response.destroyed) return;
      const responses = open.get(token) ?? new Set();
      open.set(token, responses.add(response));
      arm();
      response.once('close', () => {
        responses.delete(response);
        if (responses.size > 0 || open.get(token) !== responses) return;
        open.delete(token);
        if (open.size > 0) return;
        disarm?.();
        disarm = undefined;
      });
    },
  };
}
