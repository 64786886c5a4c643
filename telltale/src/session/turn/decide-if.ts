import { type Decision, decideTest } from '../../conditions/cel/decide-test.ts';
import type { SessionContext } from '../context.ts';

const FIELD = /\bmetadata\.([A-Za-z_]\w*)/g;

/** Decides the test of an `<if>`. That a field is declared and not set is said: "no such key" reads as a wrong name. */
export function decideIf(
  { works, manifest, state }: Pick<SessionContext, 'works' | 'manifest' | 'state'>,
  test: string,
): Decision {
  const decided = decideTest(test, () => works.context());
  if (decided.problem === undefined) return decided;
  const declared = manifest.metadata?.fields ?? {};
  const named = new Set([...test.matchAll(FIELD)].map(([, name = '']) => name));
  const unset = [...named].filter(
    (name) => Object.hasOwn(declared, name) && !Object.hasOwn(state.metadata, name),
  );
  if (unset.length === 0) return decided;
  const which = unset.map((name) => `metadata.${name}`).join(', ');
  return { ...decided, problem: `${decided.problem} Declared, but not set yet: ${which}.` };
}
