import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseTextTemplate } from '../../src/tools/tools/http-tool.ts';

const names = new Set(['a', 'b']);

test('what a parameter holds is put in once and never read', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'ab{}$.agent ') }), fc.string(), (a, b) => {
      const filling = parseTextTemplate('<{a}|{b}|${agent.x}>', 'tool "t"', names);
      expect(filling.fill({ input: { a, b }, agent: { x: '{a}' } })).toBe(`<${a}|${b}|{a}>`);
    }),
  );
});

test('names that are no parameters, and braces after a dollar that is doubled, stay text', () => {
  const filling = parseTextTemplate('{c} $${a} {a} {"a": 1} {}', 'tool "t"', names);
  expect(filling.fill({ input: { a: 1 }, agent: {} })).toBe('{c} ${a} 1 {"a": 1} {}');
  expect(filling.names).toEqual(['a']);
});

test('a name alone keeps the type of its value', () => {
  const value = (source: string) =>
    parseTextTemplate(source, 'tool "t"', names).value({ input: { a: [1], b: null }, agent: { n: 5 } });
  expect([value('{a}'), value('{b}'), value('${agent.n}'), value(' {a}'), value('{c}')]).toEqual([
    [1],
    null,
    5,
    ' [1]',
    '{c}',
  ]);
});

test('inherited properties are no parameters', () => {
  const filling = parseTextTemplate('{toString}', 'prompt "p"');
  expect(filling.fill({ input: {}, agent: {} })).toBe('');
  expect(filling.value({ input: {}, agent: {} })).toBeUndefined();
});

test('the snapshot of the agent is read only where it is named', () => {
  let reads = 0;
  const scope = {
    input: { a: 1 },
    get agent() {
      reads++;
      return { x: 1 };
    },
  };
  parseTextTemplate('{a}', 'tool "t"', names).fill(scope);
  expect(reads).toBe(0);
  parseTextTemplate('${agent.x}', 'tool "t"', names).fill(scope);
  expect(reads).toBe(1);
});
