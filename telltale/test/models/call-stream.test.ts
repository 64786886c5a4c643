import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openFrame, readTurnParts } from '../../src/lib/calls.ts';
import { type CallStream, createCallStream, scanObject } from '../../src/models/providers/call-stream.ts';
import { moreRuns } from '../more-runs.ts';

function started(isLate: boolean) {
  const said: string[] = [];
  const calls = createCallStream({ id: 'a/b', isLate, say: (text) => said.push(text), keep: () => {} });
  return { calls, said, parts: () => readTurnParts(said.join('')) };
}

const json = fc.dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 });

/** Calls in pieces, and prose; then an order in which their pieces come. */
const interleaved = fc
  .record({
    inputs: fc.array(
      json.chain((value) => {
        const text = JSON.stringify(value);
        return fc
          .uniqueArray(fc.nat(text.length), { maxLength: 5 })
          .map((cuts) => [...cuts.sort((a, b) => a - b), text.length])
          .map((cuts) => cuts.map((cut, index) => text.slice(cuts[index - 1] ?? 0, cut)));
      }),
      { minLength: 1, maxLength: 5 },
    ),
    prose: fc.array(
      fc.string({ minLength: 1, maxLength: 4 }).map((text) => text.replaceAll('\u001e', '')),
      {
        maxLength: 3,
      },
    ),
    order: fc.infiniteStream(fc.nat()),
    isLate: fc.boolean(),
  })
  .map(({ inputs, prose, order, isLate }) => {
    const lines: ((calls: CallStream) => void)[][] = inputs.map((pieces, index) => [
      (calls) => calls.begin(`c${index}`, 'n'),
      ...pieces.map((piece) => (calls: CallStream) => calls.input(`c${index}`, piece)),
      ...(isLate
        ? []
        : [
            (calls: CallStream) => {
              calls.inputEnd(`c${index}`, undefined);
              calls.call(`c${index}`, 'n', pieces.join(''), { of: `c${index}` });
            },
          ]),
    ]);
    lines.push(prose.map((text) => (calls: CallStream) => calls.text(text)));
    const steps: ((calls: CallStream) => void)[] = [];
    for (const pick of order) {
      const left = lines.filter((line) => line.length > 0);
      if (left.length === 0) break;
      steps.push(left[pick % left.length]?.shift() ?? (() => {}));
    }
    if (isLate)
      for (const [index, pieces] of inputs.entries())
        steps.push((calls) => {
          calls.inputEnd(`c${index}`, undefined);
          calls.call(`c${index}`, 'n', pieces.join(''), undefined);
        });
    return { steps, inputs: inputs.map((pieces) => pieces.join('')), prose: prose.join(''), isLate };
  });

describe('calls that come in any order', () => {
  it('are frames that never mix: each call once, with its own input; all prose, in its order', () => {
    fc.assert(
      fc.property(interleaved, ({ steps, inputs, prose, isLate }) => {
        const { calls, parts } = started(isLate);
        for (const step of steps) step(calls);
        calls.end(true);
        const found = parts();
        const byId = new Map(
          found.flatMap((part) => (part.type === 'call' ? [[part.id, part] as const] : [])),
        );
        expect(found.filter(({ type }) => type !== 'text')).toHaveLength(inputs.length);
        for (const [index, input] of inputs.entries())
          expect(byId.get(`c${index}`)).toEqual({
            type: 'call',
            id: `c${index}`,
            name: 'n',
            input,
            ...(isLate ? {} : { meta: { of: `c${index}` } }),
          });
        expect(found.map((part) => (part.type === 'text' ? part.text : '')).join('')).toBe(prose);
      }),
      { numRuns: moreRuns(300) },
    );
  });

  it('a broken stream leaves whole calls whole and adds nothing to the one it broke off in', () => {
    fc.assert(
      fc.property(interleaved, fc.nat(40), ({ steps, inputs, isLate }, count) => {
        const { calls, parts } = started(isLate);
        for (const step of steps.slice(0, count)) step(calls);
        calls.end(false);
        for (const [index, part] of parts().entries()) {
          if (part.type === 'call') expect(inputs[Number(part.id.slice(1))]).toBe(part.input);
          if (part.type === 'broken') expect(index).toBe(parts().length - 1);
        }
      }),
      { numRuns: moreRuns(300) },
    );
  });
});

describe('the end of a call', () => {
  it('is the call itself, with what the provider wants back', () => {
    const { calls, parts } = started(false);
    calls.begin('c', 'n');
    calls.input('c', '{"a":1}');
    expect(parts()).toEqual([{ type: 'broken', name: 'n' }]);
    calls.inputEnd('c', undefined);
    calls.call('c', 'n', '{"a":1}', { google: { thoughtSignature: 'x' } });
    expect(parts()).toEqual([
      { type: 'call', id: 'c', name: 'n', input: '{"a":1}', meta: { google: { thoughtSignature: 'x' } } },
    ]);
  });

  it('is the end of its input where something else comes before the call', () => {
    const { calls, parts } = started(false);
    calls.begin('c', 'n');
    calls.input('c', '{"a"');
    calls.inputEnd('c', { of: 'end' });
    calls.text('on');
    expect(parts()).toEqual([
      { type: 'call', id: 'c', name: 'n', input: '{"a"', meta: { of: 'end' } },
      { type: 'text', text: 'on' },
    ]);
    calls.call('c', 'n', '{"a"', { of: 'call' });
    expect(parts()).toHaveLength(2);
  });

  it('of a call that comes whole is the call', () => {
    const { calls, parts } = started(false);
    calls.call('c', 'n', '{"a":1}', undefined);
    calls.call('d', 'n', '', undefined);
    calls.end(true);
    expect(parts()).toEqual([
      { type: 'call', id: 'c', name: 'n', input: '{"a":1}' },
      { type: 'call', id: 'd', name: 'n', input: '{}' },
    ]);
  });

  it('of a provider that tells it late is the last bracket; what comes behind it is left out', () => {
    const { calls, said, parts } = started(true);
    calls.begin('c', 'n');
    calls.input('c', ' {"a":"}"');
    expect(said.join('')).toBe(`${openFrame('c', 'n')} {"a":"}"`);
    calls.input('c', '}');
    calls.input('c', ' {"a":2}');
    calls.call('c', 'n', ' {"a":"}"} {"a":2}', undefined);
    expect(parts()).toEqual([{ type: 'call', id: 'c', name: 'n', input: ' {"a":"}"}' }]);
  });

  it('of a provider that tells it late is waited for where calls are signed', () => {
    const { calls, parts } = started(true);
    calls.awaitMeta();
    calls.begin('c', 'n');
    calls.input('c', '{"a":1}');
    expect(parts()).toEqual([{ type: 'broken', name: 'n' }]);
    calls.call('c', 'n', '{"a":1}', { signed: true });
    expect(parts()).toMatchObject([{ type: 'call', meta: { signed: true } }]);
  });
});

describe('parallel calls', () => {
  it('that hold back too much end the stream with an error', () => {
    const { calls } = started(false);
    calls.begin('c', 'n');
    calls.begin('d', 'n');
    const piece = 'x'.repeat(1024 * 1024);
    expect(() => {
      for (let i = 0; i < 20; i++) calls.input('d', piece);
    }).toThrow(/a\/b: parallel tool calls contain more than 16,777,216 characters\./);
  });
});

describe('an object that comes in pieces', () => {
  it.each([
    ['', 'empty'],
    [' \n\t\r', 'empty'],
    ['{', 'open'],
    ['{"a":"}', 'open'],
    ['{"a":"\\"}"', 'open'],
    ['{"a":[{}]', 'open'],
    ['{}', 'whole'],
    [' {"a":"\\\\"} \n', 'whole'],
    ['{"a":[{"b":"]"}]}', 'whole'],
    ['[]', 'other'],
    ['"a"', 'other'],
    ['{}{}', 'other'],
  ] as const)('%j is %s, however it is cut', (text, state) => {
    for (let cut = 0; cut <= text.length; cut++) {
      const scan = scanObject();
      scan.read(text.slice(0, cut));
      scan.read(text.slice(cut));
      expect(scan.state).toBe(state);
    }
  });

  it('is whole at the end of any JSON object, and before it is not', () => {
    fc.assert(
      fc.property(json, (value) => {
        const scan = scanObject();
        const text = JSON.stringify(value);
        scan.read(text.slice(0, -1));
        expect(scan.state).toBe('open');
        scan.read('}');
        expect([scan.state, scan.hasMember]).toEqual(['whole', Object.keys(value).length > 0]);
      }),
    );
  });
});

describe('calls of a provider that does not number them', () => {
  const inputs = (parts: ReturnType<typeof readTurnParts>) =>
    parts.flatMap((part) => (part.type === 'call' ? [[part.id, part.name, part.input]] : []));

  it('under one id that are given whole are all made, each under an id of its own', () => {
    const { calls, parts } = started(false);
    calls.call('x', 'a', '{"n":1}', undefined);
    calls.call('x', 'a', '{"n":2}', undefined);
    calls.call('', 'b', '{}', undefined);
    calls.call('', 'b', '{}', undefined);
    calls.end(true);
    expect(inputs(parts())).toEqual([
      ['x', 'a', '{"n":1}'],
      ['x_1', 'a', '{"n":2}'],
      ['call_2', 'b', '{}'],
      ['call_3', 'b', '{}'],
    ]);
  });

  it.each([false, true])(
    'under one id that stream one behind the other are all made, once each (late: %s)',
    (isLate) => {
      const { calls, parts } = started(isLate);
      for (const n of [1, 2, 2]) {
        calls.begin('', 'a');
        calls.input('', `{"n":`);
        calls.input('', `${n}}`);
      }
      for (const n of [1, 2, 2]) {
        calls.inputEnd('', undefined);
        calls.call('', 'a', `{"n":${n}}`, undefined);
      }
      calls.end(true);
      expect(inputs(parts()).toSorted()).toEqual([
        ['call_1', 'a', '{"n":1}'],
        ['call_2', 'a', '{"n":2}'],
        ['call_3', 'a', '{"n":2}'],
      ]);
    },
  );

  it('that is given twice with the same input under an id is made once', () => {
    const { calls, parts } = started(false);
    calls.begin('x', 'a');
    calls.begin('x', 'a');
    calls.input('x', '{"n":1}');
    calls.call('x', 'a', '{"n":1}', undefined);
    calls.call('x', 'a', '{"n":1}', undefined);
    calls.end(true);
    expect(inputs(parts())).toEqual([['x', 'a', '{"n":1}']]);
  });
});
