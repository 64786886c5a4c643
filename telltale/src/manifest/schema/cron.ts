import { z } from 'zod';
import { type Finding, finding } from './finding.ts';
import { clip } from './show-value.ts';

interface CronField {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  readonly words?: readonly string[];
  /** The widest step, where that is not the number of its values. */
  readonly widest?: number;
}

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const DAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];
const NICKNAMES = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@hourly'];

const SECOND: CronField = { name: 'second', min: 0, max: 59 };
const FIELDS: readonly CronField[] = [
  { name: 'minute', min: 0, max: 59 },
  { name: 'hour', min: 0, max: 23 },
  { name: 'day of the month', min: 1, max: 31 },
  { name: 'month', min: 1, max: 12, words: MONTHS },
  { name: 'day of the week', min: 0, max: 7, words: DAYS, widest: 7 },
];

export const cron = (description: string) =>
  z
    .string()
    .check((ctx) => {
      const found = checkCron(ctx.value);
      if (found !== undefined) ctx.issues.push(finding(ctx.value, found));
    })
    .meta({ description, expects: 'a cron expression' });

/**
 * Five fields, or six with seconds first; lists, ranges and steps of numbers, names of months and days. What passes here
 * is kept: the package that tells the times refuses a step behind a single number (`5/10`), and one that is too wide.
 */
function checkCron(source: string): Finding | undefined {
  const text = source.trim();
  if (NICKNAMES.includes(text.toLowerCase())) return undefined;
  const parts = text.split(/\s+/);
  if (parts.length !== 5 && parts.length !== 6)
    return bad(`The schedule "${clip(source)}" has ${parts.length} fields.`);
  const fields = parts.length === 6 ? [SECOND, ...FIELDS] : FIELDS;
  for (const [index, field] of fields.entries()) {
    const part = parts[index] ?? '';
    if (!part.split(',').every((item) => fits(item, field)))
      return bad(`The schedule "${clip(source)}" has "${clip(part)}" in the field "${field.name}".`);
  }
  const [day = '', month = '', weekday = ''] = parts.slice(-3);
  if (!/^[*?]$/.test(weekday) || comes(day, month)) return undefined;
  return {
    code: 'bad_schedule',
    message: `The schedule "${clip(source)}" never runs, because that day does not exist in that month.`,
    hint: 'Write a day that exists in the month.',
  };
}

const LONGEST = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Whether a month has one of these days, in some year. Where the day of the week is given, too, either is enough. */
function comes(day: string, month: string): boolean {
  const [, , days, months] = FIELDS;
  if (days === undefined || months === undefined) return true;
  const first = Math.min(...valuesOf(day, days));
  return valuesOf(month, months).some((each) => first <= (LONGEST[each - 1] ?? 0));
}

/** What a field that fits stands for. */
function valuesOf(part: string, field: CronField): readonly number[] {
  return part.split(',').flatMap((item) => {
    const [range = '', every] = item.split('/');
    const [from = '', to] =
      range === '*' || range === '?' ? [String(field.min), String(field.max)] : range.split('-');
    const start = numberOf(from, field) ?? field.min;
    const end = to === undefined ? start : (numberOf(to, field) ?? field.max);
    const step = Number(every ?? 1);
    return Array.from({ length: Math.floor((end - start) / step) + 1 }, (_, index) => start + index * step);
  });
}

function fits(item: string, field: CronField): boolean {
  const [range = '', every, ...rest] = item.split('/');
  if (rest.length > 0 || (every !== undefined && !isStep(every, field))) return false;
  if (range === '*' || range === '?') return true;
  const [from = '', to, ...more] = range.split('-');
  if (more.length > 0 || (to === undefined && every !== undefined)) return false;
  const start = numberOf(from, field);
  const end = to === undefined ? start : numberOf(to, field);
  return start !== undefined && end !== undefined && start <= end;
}

const isStep = (every: string, { min, max, widest = max - min + 1 }: CronField): boolean =>
  /^\d{1,2}$/.test(every) && Number(every) > 0 && Number(every) <= widest;

function numberOf(text: string, { min, max, words }: CronField): number | undefined {
  const word = words?.indexOf(text.toUpperCase()) ?? -1;
  if (word >= 0) return word + min;
  if (!/^\d{1,2}$/.test(text)) return undefined;
  const value = Number(text);
  return value >= min && value <= max ? value : undefined;
}

const bad = (message: string): Finding => ({
  code: 'bad_schedule',
  message,
  hint: `Write minute, hour, day of the month, month, day of the week, like "*/10 8-18 * * MON-FRI"; or one of ${NICKNAMES.join(', ')}.`,
});
