import type { SessionState } from '../../../events/state.ts';
import type { FieldMetrics } from '../../../events/state-metrics.ts';
import type { Json } from '../../../kernel/json.ts';

const MAX_FIELDS = 100;
const MAX_VALUES = 100;

/** Time, tokens and cost of the session, and by each value that a field of its metadata had. */
export function metricsOf(state: SessionState, fields: readonly FieldMetrics[] = []): Json {
  const { totals, startedAt, at, downMs } = state;
  const { input, output, cost_usd, turns } = totals;
  return {
    totals: { ms: Math.max(0, at - startedAt - downMs), turns, input, output, cost_usd },
    states: fields.slice(0, MAX_FIELDS).map(({ field, value, values }) => ({
      field,
      value,
      values: values.slice(0, MAX_VALUES).map((spent) => ({ ...spent })),
    })),
  };
}
