import { beginsWithADay } from '../../kernel/calendar-date.ts';
import { parseDuration } from '../../kernel/duration.ts';
import type { Json } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { showValue } from '../../manifest/schema/show-value.ts';
import type { ReadyLeaf } from '../leaf.ts';
import type { LeafContext, PrepareLeaf } from './leaf-edges.ts';
import { resolveInStep, stepWhat } from './resolve-in-step.ts';
import { waitFor } from './wait-for.ts';
import { prepareEventWait } from './wait-for-event.ts';

/** Waits for a time, a moment or an event. Durable: what it waits for is on the log, and no process is held. */
export const prepareWait: PrepareLeaf<'wait'> = async (step, place, context) => {
  if ('event' in step) return prepareEventWait(step, place, context);
  if ('until' in step) {
    const until = momentOf(await resolveInStep(step.until, place, context), stepWhat(place));
    return timed({ until: new Date(until).toISOString() }, () => until, context);
  }
  const written = typeof step.for === 'string' ? await resolveInStep(step.for, place, context) : step.for;
  const ms = durationOf(written, stepWhat(place));
  const startedAt = () => context.journal.state.steps.get(place.address)?.startedAt ?? context.clock.now();
  return timed({ for_ms: ms }, () => startedAt() + ms, context);
};

function timed(input: ReadyLeaf['input'], dueOf: () => number, context: LeafContext): ReadyLeaf {
  return {
    input,
    repeatable: true, // when it is due is on the log
    async run(call) {
      const { journal } = context;
      const { address: id, cause } = call;
      const timer = journal.state.timers.get(id);
      const due = timer?.due ?? dueOf();
      if (timer === undefined) journal.append({ type: 'timer.set', id, due }, cause);
      if (timer?.fired !== true) {
        await waitFor({ waitsFor: `timer ${id}`, due, look: () => undefined }, call, context);
        journal.append({ type: 'timer.fired', id }, cause);
      }
      return { until: new Date(due).toISOString() };
    },
  };
}

/** What a reference has brought: a bare number is seconds, as in a manifest. */
function durationOf(written: Json | { readonly ms: number }, what: string): number {
  if (typeof written === 'object' && written !== null && 'ms' in written && typeof written.ms === 'number')
    return written.ms;
  if (typeof written !== 'string' && typeof written !== 'number') throw noDuration(what, written as Json);
  const parsed = parseDuration(written);
  if (!parsed.ok) throw noDuration(what, written);
  return parsed.value;
}

const DATE = /^\d{4}-\d{2}-\d{2}(?:T[\d:.]+(Z|[+-]\d{2}:?\d{2})?)?$/;

/** A time without a zone is UTC, on whichever machine the run goes on. */
function momentOf(written: Json, what: string): number {
  const [text, zone] = typeof written === 'string' ? (DATE.exec(written.trim()) ?? []) : [];
  const at =
    text === undefined || !beginsWithADay(text)
      ? Number.NaN
      : Date.parse(zone === undefined && text.includes('T') ? `${text}Z` : text);
  if (Number.isNaN(at)) throw noMoment(what, written);
  return at;
}

const noDuration = (what: string, found: Json) =>
  new RuntimeError('bad_parameters', `"for" of ${what} is ${showValue(found)}, which is no duration.`, {
    hint: 'Refer to a text like "30s" or "1h30m", or to a number of seconds.',
  });

const noMoment = (what: string, found: Json) =>
  new RuntimeError('bad_parameters', `"until" of ${what} is ${showValue(found)}, which is no time.`, {
    hint: 'Refer to a text like 2026-11-15T08:30:00Z.',
  });
