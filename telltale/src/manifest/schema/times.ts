import { z } from 'zod';
import { beginsWithADay } from '../../kernel/calendar-date.ts';
import { finding } from './finding.ts';
import { showValue } from './show-value.ts';

const ISO_TIME = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/;

/** A moment, as ISO 8601 writes it. */
export const moment = (description: string) =>
  z
    .string()
    .check((ctx) => {
      if (ISO_TIME.test(ctx.value) && beginsWithADay(ctx.value) && !Number.isNaN(Date.parse(ctx.value)))
        return;
      const message = `${showValue(ctx.value)} is not a time.`;
      ctx.issues.push(
        finding(ctx.value, { code: 'bad_time', message, hint: 'Write it like 2026-11-15T08:30:00Z.' }),
      );
    })
    .meta({ description, expects: 'a time like 2026-11-15T08:30:00Z' });

export const timeZone = (description: string) =>
  z
    .string()
    .check((ctx) => {
      if (isTimeZone(ctx.value)) return;
      const message = `${showValue(ctx.value)} is not a time zone.`;
      ctx.issues.push(
        finding(ctx.value, {
          code: 'bad_time_zone',
          message,
          hint: 'Write it like "Europe/Lisbon" or "UTC".',
        }),
      );
    })
    .meta({ description, expects: 'a time zone like "Europe/Lisbon"' });

function isTimeZone(text: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: text });
    return true;
  } catch {
    return false;
  }
}
