import { evaluateTest } from '../../conditions/cel/evaluate.ts';
import { parseExpression } from '../../conditions/cel/parse-expression.ts';
import type { RunJournal } from '../../engine/run-journal.ts';
import type { Decisions } from '../../workflows/decisions.ts';
import { resolveDeep } from '../../workflows/resolve-deep.ts';
import type { Scope } from '../../workflows/scope.ts';

export const temporaryDecisions = (journal: RunJournal, scope: Scope): Decisions => ({
  async test(at, test, locals) {
    if (typeof test === 'boolean') return test;
    if (typeof test === 'object') return test.fallback;
    const parsed = parseExpression(test);
    const held = parsed.ok
      ? evaluateTest(
          parsed.value,
          await scope.forTest([...new Set(parsed.value.names.map(({ root }) => root))], locals, at),
        )
      : parsed;
    journal.append({ type: 'if.decided', at_step: at, test, held: held.ok && held.value });
    return held.ok && held.value;
  },
  async prompt({ prompt = '' }, at, locals) {
    return String(
      await resolveDeep(typeof prompt === 'string' ? prompt : prompt.fallback, scope, {
        what: at,
        locals,
        at,
      }),
    );
  },
  state: async (_at, { fallback }) => fallback,
});
