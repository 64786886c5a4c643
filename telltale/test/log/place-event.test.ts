import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLastFront, encodeEvent, encodeNext, placeEvent } from '../../src/log/codec.ts';
import type { Cause, EventBody } from '../../src/log/event.ts';
import { arbitraryLog } from './arbitrary-log.ts';

const bodyOf = ({
  seq: _,
  at: _at,
  session: _session,
  turn: _turn,
  cause: _cause,
  ...body
}: object & {
  readonly [Key in 'seq' | 'at' | 'session' | 'turn' | 'cause']: unknown;
}) => body as EventBody;

describe('an event at its place', () => {
  it('says all that its body says, in that order, and then where it stands', () => {
    fc.assert(
      fc.property(arbitraryLog, (log) => {
        for (const event of log) {
          const body = bodyOf(event);
          const { seq, at, session, turn, cause } = event;
          const placed = placeEvent(body, seq, at, session, turn, cause);
          expect(JSON.stringify(placed)).toBe(JSON.stringify({ ...body, seq, at, session, turn, cause }));
        }
      }),
    );
  });
});

describe('lines that are written one behind the other', () => {
  it('are those that each event has alone, whatever stays the same from one to the next, and whichever stream each is of', () => {
    const cause = fc.constantFrom<Cause>(
      { stream: 'ses_test', seq: 1, depth: 1 },
      { stream: 'ses_test', seq: 12, depth: 4 },
      { stream: 'run "x"', seq: 1, depth: 2 },
    );
    const session = fc.constantFrom('ses_test', 'run "x"', 'ses_other');
    const step = fc.record({ at: fc.constantFrom(1, 2, 1.5), session, turn: fc.nat(2), cause });
    fc.assert(
      fc.property(arbitraryLog, fc.array(step, { minLength: 1 }), (log, steps) => {
        const last = createLastFront();
        for (const [index, event] of log.entries()) {
          const { at, session, turn, cause } = steps[index % steps.length] ?? event;
          const { seq } = event;
          const head = { seq, at, session, turn, cause };
          const line = encodeNext(last, bodyOf(event), seq, at, session, turn, cause);
          expect(line).toBe(encodeEvent(head, bodyOf(event)));
        }
      }),
    );
  });
});
