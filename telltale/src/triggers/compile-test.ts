import { evaluateTest } from '../conditions/cel/evaluate.ts';
import { type Expression, parseExpression } from '../conditions/cel/parse-expression.ts';
import { RuntimeError } from '../kernel/runtime-error.ts';
import type { OpaqueTest } from './state-trigger.ts';

/** What a test's updates are of; the other of the two is what they hold `beyond`. */
export type TestSide = 'metadata' | 'vars';

type Values = Readonly<Record<string, unknown>>;

/** Reads a CEL test that the manifest's check has passed. */
export function readTest(source: string): Expression {
  const parsed = parseExpression(source);
  if (!parsed.ok) throw unreadableTest(source, parsed.error.message);
  return parsed.value;
}

/** A CEL test on state. One that cannot be evaluated is false, and says why under the name of its trigger. */
export function compileTest(source: string, side: TestSide, trigger: string): OpaqueTest {
  const expression = readTest(source);
  return {
    kind: 'opaque',
    ...readsOf(expression, side),
    holds({ current, beyond = {}, onProblem }) {
      const metadata = side === 'metadata' ? current : beyond;
      const vars = side === 'metadata' ? beyond : current;
      const held = evaluateTest(expression, contextOf(expression, { metadata, vars }));
      onProblem?.(trigger, held.ok ? undefined : held.error.message);
      return held.ok && held.value;
    },
  };
}

/** The names that `expression` uses, and no others: a bare one is a variable. */
export function contextOf(
  { names }: Expression,
  values: { readonly metadata: Values; readonly vars: Values } & Values,
): Values {
  const context: Record<string, unknown> = {};
  for (const { root } of names) {
    if (Object.hasOwn(values, root)) context[root] = values[root];
    else if (Object.hasOwn(values.vars, root)) context[root] = values.vars[root];
  }
  return context;
}

function readsOf(
  { names }: Expression,
  side: TestSide,
): Pick<OpaqueTest, 'fields'> & { readsBeyond: boolean } {
  const fields = new Set<string>();
  let all = false;
  let readsBeyond = false;
  for (const { root, path } of names) {
    const isOther = root === (side === 'metadata' ? 'vars' : 'metadata');
    const isBare = root !== 'vars' && root !== 'metadata';
    if (isOther || (isBare && side === 'metadata')) readsBeyond = true;
    else if (isBare) fields.add(root);
    else if (typeof path[0] === 'string') fields.add(path[0]);
    else all = true;
  }
  return { fields: all ? 'all' : [...fields], readsBeyond };
}

const unreadableTest = (source: string, why: string) =>
  new RuntimeError(
    'bad_expression',
    `The test ${JSON.stringify(source)} of a trigger cannot be read: ${why}`,
    {
      hint: 'Check the manifest with "telltale validate".',
    },
  );
