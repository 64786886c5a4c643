import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { matches } from '../../src/expressions/maps/conditions.ts';
import { parseConditions } from '../../src/expressions/maps/parse-conditions.ts';
import { resolveReferences } from '../../src/expressions/references/resolve-references.ts';
import { parseTemplate } from '../../src/expressions/templates/parse-template.ts';
import { resolveTemplate } from '../../src/expressions/templates/resolve-template.ts';
import { run } from './run-cel.ts';

const guide = readFileSync(new URL('../../../docs/conditions.md', import.meta.url), 'utf8');

/** The lines of the fenced blocks that are marked with `mark`. */
const block = (mark: string) =>
  [...guide.matchAll(/^```(.+)\n([\s\S]*?)^```$/gm)]
    .filter(([, info]) => info === mark)
    .map(([, , body = '']) => body);

/** Lines cut into an example and what it gives. */
const examples = (mark: string, divider: RegExp): [string, string][] =>
  block(mark)
    .flatMap((body) => body.split('\n').filter((line) => line !== ''))
    .map((line) => {
      const at = line.search(divider);
      return [line.slice(0, at).trimEnd(), line.slice(at).replace(divider, '').trim()];
    });

const context = JSON.parse(block('json')[0] ?? '');

const shown = (result: { ok: true; value: unknown } | { ok: false; error: { code: string } }) =>
  result.ok ? JSON.stringify(result.value) : `error: ${result.error.code}`;

describe('the guide to conditions tells the truth about', () => {
  const maps = examples('yaml conditions', /# (?=true$|false$)/);
  it.each(maps)('%s', (source, expected) => {
    const parsed = parseConditions(parseYaml(source));
    expect(parsed).toMatchObject({ ok: true });
    expect(String(parsed.ok && matches(parsed.value, { current: context.metadata }))).toBe(expected);
  });

  const expressions = examples('cel', /\/\/ (?!.*\/\/ )/);
  it.each(expressions)('%s', (source, expected) => {
    expect(shown(run(source, context))).toBe(expected);
  });

  const templates = examples('template', / => /);
  it.each(templates)('%s', (source, expected) => {
    const parsed = parseTemplate(source);
    expect(parsed).toMatchObject({ ok: true });
    expect(parsed.ok && shown(resolveTemplate(parsed.value, context))).toBe(expected);
  });

  const references = examples('references', / => /);
  it.each(references)('%s', (source, expected) => {
    const lookup = (name: string) => (Object.hasOwn(context.vars, name) ? context.vars[name] : undefined);
    const resolved = resolveReferences(source, { whole: lookup, inserted: lookup });
    expect(resolved.ok && JSON.stringify(resolved.value.value)).toBe(expected);
  });

  it('and has examples of all four languages', () => {
    expect([maps, expressions, templates, references].every(({ length }) => length > 5)).toBe(true);
  });
});
