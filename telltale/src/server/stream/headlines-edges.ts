import type { Clock } from '../../kernel/clock.ts';
import type { Turnstile } from '../../kernel/turnstile.ts';
import type { Pulse } from './pulse.ts';
import type { StreamLimits } from './stream-limits.ts';
import type { StreamRuntime } from './stream-source.ts';

export interface HeadlinesDeps {
  readonly runtime: StreamRuntime;
  readonly clock: Clock;
  readonly limits: StreamLimits;
  readonly pulse: Pulse;
  readonly turnstile: Turnstile;
  readonly onError: (thrown: unknown) => void;
}
