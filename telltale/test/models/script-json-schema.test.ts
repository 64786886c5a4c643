import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { scriptJsonSchema } from '../../src/models/scripted/load-script.ts';

const validate = new Ajv2020({ strict: true, strictRequired: false, strictTypes: false }).compile(
  scriptJsonSchema(),
);

describe('the JSON Schema of a script', () => {
  it.each([
    'turns: [Hello.]',
    'turns: [{ text: a, expect: [b, { not_contains: c }], fail_after: 1, fail_with: model_timeout, delay: 2s }]',
    'turns: [{ say: [a, { call: b }, { call: c, id: d, input: { e: 1 }, meta: { f: {} } }] }]',
    `turns: [{ say: [{ call: a, input: '{"b', cut: true }], usage: { input: 1, output: 2 } }]`,
  ])('allows %s', (text) => {
    expect([validate(parse(text)), validate.errors]).toEqual([true, null]);
  });

  it.each([
    'turns: []',
    'turns: [{ text: a, say: [b] }]',
    'turns: [{ chunk: 1 }]',
    'turns: [{ say: [] }]',
    'turns: [{ say: [{ name: a }] }]',
    'turns: [{ say: [{ call: a, input: [1] }] }]',
    'turns: [{ say: [{ call: a, cut: true, meta: {} }] }]',
    'turns: [{ text: a, fail_with: model_timeout }]',
  ])('refuses %s', (text) => {
    expect(validate(parse(text))).toBe(false);
  });

  it('allows the scripts of the examples', () => {
    const examples = join(import.meta.dirname, '../../../examples');
    const files = readdirSync(examples, { recursive: true, encoding: 'utf8' }).filter((file) =>
      /\.ya?ml$/.test(file),
    );
    const scripts = files
      .filter((file) => !file.includes('node_modules'))
      .map((file) => readFileSync(join(examples, file), 'utf8'))
      .filter((text) => /^turns:/m.test(text));
    expect(scripts.length).toBeGreaterThan(0);
    for (const script of scripts) expect([validate(parse(script)), validate.errors]).toEqual([true, null]);
  });
});
