import { Cron } from 'croner';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { moreRuns } from '../../more-runs.ts';
import { said, step, steps } from './said.ts';

const saidOf = (cron: string) => said({ ...steps(step('a')), trigger: { type: 'schedule', cron } });

/** Whether the package that tells the times can keep it, and it ever comes. */
function isKept(cron: string): boolean {
  try {
    return new Cron(cron, { paused: true, timezone: 'UTC' }).nextRun(new Date(0)) !== null;
  } catch {
    return false;
  }
}

describe('a schedule', () => {
  it.each([
    '* * * * *',
    ' 0\t0 * * * ',
    '59 23 31 12 7',
    '0 0 1 1 0',
    '0 0 0 * * *',
    '*/60 */24 */31 */12 */7',
    '1-5/2,7,20-30 * * * *',
    '0 0 * jan-Mar/2 MON,fri',
    '0 0 ? * ?',
    '0 0 29 2 *',
    '0 0 31 4,5 *',
    '0 0 31 2 MON',
    '@yearly',
    '@annually',
    '@monthly',
    '@weekly',
    '@Daily',
    '@hourly',
  ])('may be %j', (cron) => {
    expect(saidOf(cron)).toEqual([]);
    expect(isKept(cron.trim())).toBe(true);
  });

  it.each([
    ['60 * * * *', '60', 'minute'],
    ['-1 * * * *', '-1', 'minute'],
    ['+1 * * * *', '+1', 'minute'],
    ['5-1 * * * *', '5-1', 'minute'],
    ['1-2-3 * * * *', '1-2-3', 'minute'],
    ['1- * * * *', '1-', 'minute'],
    ['1,,2 * * * *', '1,,2', 'minute'],
    ['5/10 * * * *', '5/10', 'minute'],
    ['/5 * * * *', '/5', 'minute'],
    ['*/ * * * *', '*/', 'minute'],
    ['*/0 * * * *', '*/0', 'minute'],
    ['*/61 * * * *', '*/61', 'minute'],
    ['*/2/3 * * * *', '*/2/3', 'minute'],
    ['*/x * * * *', '*/x', 'minute'],
    ['0 24 * * *', '24', 'hour'],
    ['0 */25 * * *', '*/25', 'hour'],
    ['0 0 0 * *', '0', 'day of the month'],
    ['0 0 32 * *', '32', 'day of the month'],
    ['0 0 */32 * *', '*/32', 'day of the month'],
    ['0 0 * 0 *', '0', 'month'],
    ['0 0 * 13 *', '13', 'month'],
    ['0 0 * JANUARY *', 'JANUARY', 'month'],
    ['0 0 * */13 *', '*/13', 'month'],
    ['0 0 * * 8', '8', 'day of the week'],
    ['0 0 * * FRI-MON', 'FRI-MON', 'day of the week'],
    ['0 0 * * MON/2', 'MON/2', 'day of the week'],
    ['0 0 * * */8', '*/8', 'day of the week'],
    ['MON 0 * * *', 'MON', 'minute'],
    ['60 0 0 * * *', '60', 'second'],
    ['0 0 24 * * *', '24', 'hour'],
  ])('may not be %j', (cron, part, field) => {
    expect(saidOf(cron)).toEqual([
      expect.stringContaining(
        `bad_schedule trigger.cron: The schedule "${cron}" has "${part}" in the field "${field}". | Write minute, hour, day of the month, month, day of the week, like "*/10 8-18 * * MON-FRI"; or one of @yearly,`,
      ),
    ]);
    expect(isKept(cron)).toBe(false);
  });

  it.each([
    ['* * * *', 4],
    ['* * * * * * *', 7],
    ['@reboot', 1],
  ])('of a wrong number of fields is refused: %j', (cron, count) => {
    expect(saidOf(cron)[0]).toContain(`The schedule "${cron}" has ${count} fields.`);
  });

  it.each(['0 0 30 2 *', '0 0 31 2,4,6,9,11 ?', '0 0 31 4-4 *', '0 0 30-31 2 *', '0 0 0 31 FEB *'])(
    'that never comes is refused: %j',
    (cron) => {
      expect(saidOf(cron)).toEqual([
        `bad_schedule trigger.cron: The schedule "${cron}" never runs, because that day does not exist in that month. | Write a day that exists in the month.`,
      ]);
      expect(isKept(cron)).toBe(false);
    },
  );

  it('that is let through can be kept, and comes', () => {
    const number = fc.oneof(fc.nat(12), fc.nat(70)).map(String);
    const word = fc.oneof({ weight: 5, arbitrary: number }, fc.constantFrom('*', 'MON', 'jan', 'SAT'));
    const range = fc.oneof(
      word,
      fc.tuple(word, word).map(([from, to]) => `${from}-${to}`),
    );
    const item = fc.oneof(
      { weight: 3, arbitrary: range },
      fc.tuple(range, number).map(([of, every]) => `${of}/${every}`),
    );
    const part = fc.oneof(
      { weight: 4, arbitrary: fc.constant('*') },
      item,
      fc.tuple(item, item).map((items) => items.join(',')),
    );
    fc.assert(
      fc.property(fc.array(part, { minLength: 5, maxLength: 6 }), (parts) => {
        const cron = parts.join(' ');
        if (saidOf(cron).length === 0) expect(isKept(cron), cron).toBe(true);
      }),
      { numRuns: moreRuns(300) },
    );
  });
});
