import type { Json, JsonObject } from '../../../kernel/json.ts';
import type { RuntimeError } from '../../../kernel/runtime-error.ts';
import { compileCheck } from '../../../targets/check-parameters.ts';
import type { FeedSource } from '../../feed.ts';
import type { SourceDeps } from '../source-edges.ts';
import { debugContext } from './debug-context.ts';
import { environmentOf } from './environment.ts';
import { historyOf } from './history.ts';
import { metricsOf } from './metrics.ts';
import { randomValue } from './random-value.ts';
import { sessionStats } from './session-stats.ts';
import { CLOCK_FORMATS, timeNow } from './system-clock.ts';

export type InternalSource = Extract<FeedSource, { readonly type: 'internal' }>;
type Action = InternalSource['action'];

const MAX_TURNS = 50;
const NUMBER = { type: 'number', minimum: -Number.MAX_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };

const PARAMS: Readonly<Record<Action, JsonObject>> = {
  system_clock: { format: { enum: CLOCK_FORMATS }, timezone: { type: 'string' } },
  random: {
    min: NUMBER,
    max: NUMBER,
    integer: { type: 'boolean' },
    choices: { type: 'array', minItems: 1, maxItems: 10_000 },
    uuid: { const: true },
  },
  env: { names: { type: 'array', items: { type: 'string' }, maxItems: 1_000 } },
  metadata: {},
  history: { turns: { type: 'integer', minimum: 1, maximum: MAX_TURNS } },
  metrics: {},
  session_stats: {},
  debug_context: {},
};

const ACTIONS = Object.keys(PARAMS) as readonly Action[];
/** Each compiled once a process, when it is first needed. */
const CHECKS = new Map(
  ACTIONS.map((action) => {
    const schema = { type: 'object', properties: PARAMS[action], additionalProperties: false };
    return [action, compileCheck(schema, `the internal source "${action}"`)] as const;
  }),
);

/** What is wrong with the params of an internal source. */
export const checkInternalParams = (action: Action, params: JsonObject): RuntimeError | undefined =>
  CHECKS.get(action)?.(params);

/** What the runtime knows itself. */
export function createInternalSource(deps: SourceDeps) {
  return async ({ action }: InternalSource, params: JsonObject): Promise<Json> => {
    const wrong = checkInternalParams(action, params);
    if (wrong !== undefined) throw wrong;
    const { state } = deps;
    const { clock, env, permissions } = deps.targets.deps;
    switch (action) {
      case 'system_clock':
        return timeNow(params, clock.now());
      case 'random':
        return randomValue(params);
      case 'env':
        return environmentOf(params, permissions.environment, env);
      case 'metadata':
        return state.metadata;
      case 'history':
        return historyOf(state, typeof params.turns === 'number' ? params.turns : undefined);
      case 'metrics':
        return metricsOf(state, await deps.stateMetrics?.());
      case 'session_stats':
        return sessionStats(state, clock.now());
      case 'debug_context':
        return debugContext(state, clock.now());
    }
  };
}
