import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../src/lib/json.ts';
import { decodeEvent, encodeEvent } from '../../src/log/codec.ts';
import { createLineJson } from '../../src/log/line-json.ts';
import { decodeRunEvent, encodeRunEvent } from '../../src/log/run-codec.ts';
import { moreRuns } from '../more-runs.ts';

const name = fc.string({ minLength: 1, unit: 'grapheme' });
const count = fc.nat();
const data = fc.jsonValue() as fc.Arbitrary<Json>;

describe('a line of the log as JSON', () => {
  it('is its event, whatever the names, the cause and the data', () => {
    fc.assert(
      fc.property(name, name, fc.boolean(), count, data, (stream, other, isOther, seq, value) => {
        const cause = { stream: isOther ? other : stream, seq, depth: 3 };
        const line = encodeEvent(
          { seq, at: 1_700_000_000_000, session: stream, turn: 2, cause },
          { type: 'custom', name: other, data: value },
        );
        expect(JSON.parse(createLineJson('session', stream)(line))).toEqual(decodeEvent(line, stream));
        const ofRun = encodeRunEvent(
          { seq, at: 12.5, run: stream, cause },
          { type: 'workflow.completed', output: value },
        );
        expect(JSON.parse(createLineJson('run', stream)(ofRun))).toEqual(decodeRunEvent(ofRun, stream));
      }),
    );
  });

  it('of a step is what JSON makes of its event, whatever it was given and gave', () => {
    const bodies = fc.oneof(
      fc.record(
        {
          type: fc.constant('step.started' as const),
          step: name,
          attempt: count,
          input: fc.dictionary(name, data),
          repeatable: fc.boolean(),
        },
        { requiredKeys: ['type', 'step', 'attempt', 'repeatable'] },
      ),
      fc.record(
        {
          type: fc.constant('step.completed' as const),
          step: name,
          output: data,
          ms: fc.oneof(count, fc.double({ min: 0, max: 1e9, noNaN: true })),
          attempts: count,
          output_key: name,
          notes: name,
        },
        { requiredKeys: ['type', 'step', 'output', 'ms', 'attempts'] },
      ),
    );
    fc.assert(
      fc.property(bodies, (body) => {
        const line = encodeRunEvent(
          { seq: 2, at: 1, run: 'r', cause: { stream: 'r', seq: 1, depth: 1 } },
          body,
        );
        expect(line).toBe(`{"v":1,"seq":2,"at":1,"turn":0,"cause":[1,1],${JSON.stringify(body).slice(1)}`);
      }),
    );
  });

  it('of a turn that ended is what JSON makes of its event, whatever figures it has', () => {
    const figure = fc.oneof(
      fc.double(),
      fc.integer(),
      fc.nat().map((thousandths) => thousandths / 1000),
      fc.constantFrom(0, -0, 0.001, 0.1, 1e9, 1e9 - 0.001, 1e21, 1e-7, Number.NaN, Number.POSITIVE_INFINITY),
    );
    const body = fc.record({
      type: fc.constant('turn.completed' as const),
      usage: fc.record(
        { input: figure, output: figure, cached: figure, estimated: fc.constant(true as const) },
        { requiredKeys: ['input', 'output'] },
      ),
      cost_usd: figure,
      ms: figure,
      first_token_ms: figure,
      finish: fc.constantFrom('stop' as const, 'length' as const, 'cut' as const),
    });
    const head = { seq: 2, at: 1, session: 's', turn: 3, cause: { stream: 's', seq: 1, depth: 1 } };
    fc.assert(
      fc.property(body, (each) => {
        const line = `{"v":1,"seq":2,"at":1,"turn":3,"cause":[1,1],${JSON.stringify(each).slice(1)}`;
        expect(encodeEvent(head, each)).toBe(line);
      }),
      { numRuns: moreRuns(2_000) },
    );
  });

  it('is refused like an event where it is none', () => {
    const json = createLineJson('session', 's');
    expect(() => json('{"v":1,"seq":1}')).toThrow('no event');
    expect(() => json('{"v":9,"seq":1,"at":1,"turn":0,"cause":[0,0],"type":"text"}')).toThrow('form 9');
  });
});
