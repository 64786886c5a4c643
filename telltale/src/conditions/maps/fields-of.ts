import type { PathSegment } from '../issue.ts';
import { formatPath } from '../path.ts';
import type { Condition, FieldTest } from './conditions.ts';

/** A field that a condition looks at. */
export interface FieldUse {
  /** From the top: `['context', 'phase']` for `context: { phase: … }` as for `context.phase: …`. */
  readonly path: readonly PathSegment[];
  /** Whether it asks for a change, so that the value before matters too. */
  readonly change: boolean;
}

/** The fields `condition` mentions, each once, in order: a change of any other field cannot change what it says. */
export function fieldsOf(condition: Condition): readonly FieldUse[] {
  const found = new Map<string, FieldUse>();
  for (const use of inCondition(condition, [])) {
    const key = formatPath(use.path);
    const known = found.get(key);
    if (known === undefined || (use.change && !known.change)) found.set(key, use);
  }
  return [...found.values()];
}

function inCondition(condition: Condition, base: readonly PathSegment[]): readonly FieldUse[] {
  switch (condition.kind) {
    case 'all':
    case 'any':
      return condition.of.flatMap((each) => inCondition(each, base));
    case 'not':
      return inCondition(condition.of, base);
    case 'field':
      return inTest(condition.test, [...base, ...condition.path]);
  }
}

function inTest(test: FieldTest, path: readonly PathSegment[]): readonly FieldUse[] {
  switch (test.kind) {
    case 'inside':
      return inCondition(test.condition, path);
    case 'any_of':
    case 'every':
      return test.tests.flatMap((each) => inTest(each, path));
    case 'not':
      return inTest(test.test, path);
    case 'changed':
    case 'from':
    case 'to':
      return [{ path, change: true }];
    case 'equals':
    case 'compare':
    case 'in':
    case 'contains':
    case 'matches':
    case 'exists':
      return [{ path, change: false }];
  }
}
