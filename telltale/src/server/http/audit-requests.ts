import type { AuditEntry } from '../../client/api.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Audit } from '../auth/audit.ts';
import type { Caller } from '../server-edges.ts';
import { createRateLimiter } from './rate-limiter.ts';
import { HOOKS } from './read-body.ts';

export interface AuditedRequest {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** Nobody where the request was refused before it was known who sent it. */
  readonly caller: Caller | undefined;
  readonly address: string;
  readonly about: string | undefined;
}

/** Puts what was asked for on the audit, once it is answered. */
export interface AuditRequests {
  note(request: AuditedRequest): void;
  /** Resolves when all that was noted is written. */
  settled(): Promise<void>;
}

/** Refused requests that are noted: a flood of them must not fill the store. */
const REFUSED = { perSecond: 0.2, burst: 50 };
const MAX_CHARS = 300;

export function createAuditRequests(
  audit: Pick<Audit, 'add'>,
  clock: Pick<Clock, 'monotonic'>,
  onError: (thrown: unknown) => void,
): AuditRequests {
  const refused = createRateLimiter(REFUSED);
  const pending = new Set<Promise<void>>();
  return {
    note(request) {
      const { method, path, status, caller, address, about = secondPart(path) } = request;
      // Anybody can post to a hook: what is not signed counts as what was refused.
      const isRefused = status === 401 || status === 403 || (status >= 400 && path.startsWith(HOOKS));
      if (caller === undefined || isRefused) {
        if (refused.take('refused', clock.monotonic()) > 0) return;
      }
      const entry: Omit<AuditEntry, 'n' | 'at'> = {
        who: caller?.by ?? `unknown (${address})`,
        role: caller?.role ?? 'read',
        what: `${method} ${path}`.slice(0, MAX_CHARS),
        ...(about === undefined ? {} : { about: about.slice(0, MAX_CHARS) }),
        status,
      };
      const added = audit.add(entry).catch(onError);
      pending.add(added);
      void added.then(() => pending.delete(added));
    },
    async settled() {
      await Promise.all(pending);
    },
  };
}

/** Of `/sessions/ses_1/steer`: what a request is about unless its route knows better. */
const secondPart = (path: string): string | undefined => path.split('/')[2] || undefined;
