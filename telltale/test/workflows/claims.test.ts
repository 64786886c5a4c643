import { describe, expect, test } from 'vitest';
import { checkClaim, type SentClaim } from '../../src/workflows/guided/check-claim.ts';

const TASK = { prompt: 'Look at it.', requires: {}, accepts: {} };
const NOTES = 'I looked at it from all sides and wrote down what there was to see, which is not much.';

const refusal = (sent: SentClaim, task: Parameters<typeof checkClaim>[0] = TASK) => {
  const error = checkClaim(task, sent);
  return error === undefined ? undefined : `${error.code}: ${error.message}`;
};

describe('a claim', () => {
  test('with notes that say something is taken', () => {
    expect(refusal({ notes: NOTES })).toBeUndefined();
  });

  test.each([
    [undefined, 'It has no notes.'],
    [null, 'It has no notes.'],
    [7, 'Its notes are no text.'],
    ['', 'Its notes are empty.'],
    [' \n\t', 'Its notes are empty.'],
    ['Looked at it.', 'Its notes have 13 characters; at least 50 are asked for.'],
    [`${NOTES} `.repeat(300), 'characters; 20000 are the most.'],
  ])('is refused where its notes are %j', (notes, message) => {
    expect(refusal({ notes })).toMatch(/^notes_refused: The step is not completed\. /);
    expect(refusal({ notes })).toContain(message);
  });

  test.each([
    [{ context_updates: [] }, '"context_updates" is no object.'],
    [{ context_updates: { stray: 1 } }, '"context_updates" has the key "stray", which nobody asks for.'],
    [{ artifacts: {} }, '"artifacts" is no list.'],
    [{ artifacts: Array.from({ length: 101 }, () => 1) }, '"artifacts" has more than 100 entries.'],
    [{ artifacts: ['x'.repeat(100_001)] }, '"artifacts" has more than 100000 characters.'],
  ])('is refused where it brings %j', (sent, message) => {
    expect(refusal({ notes: NOTES, ...sent })).toBe(`claim_refused: The step is not completed. ${message}`);
  });

  test('is refused where what it must bring is missing, wrong or too much', () => {
    const task = { ...TASK, requires: { risk: { enum: ['low', 'high'] }, text: { type: 'string' } } };
    expect(refusal({ notes: NOTES }, task)).toContain('"context_updates" lacks "risk", "text".');
    expect(refusal({ notes: NOTES, context_updates: { risk: 'odd', text: '' } }, task)).toContain(
      '"/risk" is "odd"',
    );
    const long = { risk: 'low', text: 'x'.repeat(100_001) };
    expect(refusal({ notes: NOTES, context_updates: long }, task)).toContain('more than 100000 characters');
    expect(refusal({ notes: NOTES, context_updates: { risk: 'low', text: 'so' } }, task)).toBeUndefined();
  });

  test('cannot bring what no schema names, whatever it is called', () => {
    for (const key of ['__proto__', 'constructor', 'toString'])
      expect(refusal({ notes: NOTES, context_updates: JSON.parse(`{"${key}": 1}`) })).toContain(
        'nobody asks for',
      );
  });
});
