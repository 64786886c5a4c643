import type { Condition, FieldTest } from '../conditions/maps/conditions.ts';

const YES: FieldTest = { kind: 'every', tests: [] };
const NO: FieldTest = { kind: 'any_of', tests: [] };

/**
 * The condition without what it asks of a change: holds wherever the values could satisfy it. So it can be told some
 * time after a change whether what it was for is still so: `{ from: A, to: B }` asks for B then.
 */
export const withoutChange = (condition: Condition): Condition => loosen(condition, true);

/** `wants`: whether a part helps the whole by holding; inside a `not` it helps by not holding. */
function loosen(condition: Condition, wants: boolean): Condition {
  switch (condition.kind) {
    case 'all':
    case 'any':
      return { kind: condition.kind, of: condition.of.map((each) => loosen(each, wants)) };
    case 'not':
      return { kind: 'not', of: loosen(condition.of, !wants) };
    case 'field':
      return { ...condition, test: loosenTest(condition.test, wants) };
  }
}

function loosenTest(test: FieldTest, wants: boolean): FieldTest {
  switch (test.kind) {
    case 'changed':
    case 'from':
      return wants ? YES : NO;
    case 'to':
      return wants ? loosenTest(test.test, true) : NO;
    case 'any_of':
    case 'every':
      return { kind: test.kind, tests: test.tests.map((each) => loosenTest(each, wants)) };
    case 'not':
      return { kind: 'not', test: loosenTest(test.test, !wants) };
    case 'inside':
      return { kind: 'inside', condition: loosen(test.condition, wants) };
    case 'equals':
    case 'compare':
    case 'in':
    case 'contains':
    case 'matches':
    case 'exists':
      return test;
  }
}
