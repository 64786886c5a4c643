// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax under test

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Template } from '../../src/expressions/templates/parse-template.ts';
import { parseTemplate } from '../../src/expressions/templates/parse-template.ts';
import {
  escapeTemplate,
  fillEnvironment,
  formatTemplate,
  resolveTemplate,
} from '../../src/expressions/templates/resolve-template.ts';
import { moreRuns } from '../more-runs.ts';

function read(text: string, names: readonly string[] = []): Template {
  const parsed = parseTemplate(text, { names });
  if (!parsed.ok) throw new Error(parsed.error.map((issue) => issue.message).join(' '));
  return parsed.value;
}
const issuesOf = (text: string) => {
  const parsed = parseTemplate(text);
  return parsed.ok ? [] : parsed.error;
};
const scope = {
  agent: { name: 'coder', metadata: { status: 'CODING', note: null }, list: [1, { a: 'x' }], 'odd key': 1 },
  vars: { count: 3, text: 'hi', flag: false, nothing: null },
  steps: { build: { output: { ok: true, 'exit-code': 0 } } },
  file: { path: 'a.ts' },
};
const resolve = (text: string) => {
  const result = resolveTemplate(read(text, ['file']), scope);
  return result.ok ? result.value : `!${result.error.code}`;
};

describe('resolving', () => {
  it.each<[string, unknown]>([
    ['plain', 'plain'],
    ['', ''],
    ['${vars.count}', 3],
    ['${ vars.count }', 3],
    ['n=${vars.count}', 'n=3'],
    ['${vars.count}${vars.text}', '3hi'],
    ['${vars.flag}', false],
    ['${vars.nothing}', null],
    ['[${vars.nothing}]', '[null]'],
    ['${steps.build.output}', { ok: true, 'exit-code': 0 }],
    ['out: ${steps.build.output}', 'out: {"ok":true,"exit-code":0}'],
    ['${steps.build.output.exit-code}', 0],
    ['${agent.list[1].a}', 'x'],
    ['${agent["odd key"]}', 1],
    ['${file.path}', 'a.ts'],
    ['${file}', { path: 'a.ts' }],
    ['${vars}', scope.vars],
    ['${vars.absent ?? 5}', 5],
    ['${vars.absent ?? five}', 'five'],
    ["${vars.absent ?? 'a } b'}", 'a } b'],
    ['${vars.absent ?? "a } \\" b"}', 'a } " b'],
    ['${vars.absent ?? {"a": [1]}}', { a: [1] }],
    ["${vars.absent ?? it's fine}", "it's fine"],
    ['${vars.absent ?? "a ?? b"}', 'a ?? b'],
    ["${vars.absent ?? 'a ?? b'}", 'a ?? b'],
    ["${vars.absent ?? 'it\\'s'}", "it's"],
    ["${vars.absent ?? 'a\\\\b'}", 'a\\b'],
    ["${vars.absent ?? it's ?? b}", "it's"],
    ["${vars.absent ?? ''}", ''],
    ["${vars.absent ?? 'a' b}", "'a' b"],
    ['${vars.absent ?? a "b"}', 'a "b"'],
    ['${vars.absent ?? a?b}', 'a?b'],
    ['${vars.absent ?? null ?? vars.count}', 3],
    ['${vars.absent ?? vars.other ?? null}', null],
    ['${vars.absent ?? various}', 'various'],
    ['${vars.absent ?? vars are}', 'vars are'],
    ['${vars.absent ?? agent["odd key"]}', 1],
    ['${vars.absent ??}', ''],
    ['${vars.absent ?? null}', null],
    ['${vars.nothing ?? 1}', 1],
    ['${vars.flag ?? 1}', false],
    ['${vars.absent ?? vars.count}', 3],
    ['${vars.absent ?? vars.nothing ?? agent.name}', 'coder'],
    ['${vars.absent ?? vars.other}', '!no_such_path'],
    ['${vars.absent}', '!no_such_path'],
    ['${vars.constructor}', '!no_such_path'],
    ['${vars.__proto__}', '!no_such_path'],
    ['${agent.list.length}', '!no_such_path'],
    ['${agent.name.length}', '!no_such_path'],
    ['${trigger.x}', '!no_such_path'],
    ['$${vars.count}', '${vars.count}'],
    ['$$${vars.count}', '$3'],
    ['$$$${vars.count}', '$${vars.count}'],
    ['cost: $5, $$5, $x', 'cost: $5, $$5, $x'],
    ['${HOME}', '!env_left'],
  ])('%s', (text, expected) => {
    expect(resolve(text)).toEqual(expected);
  });

  it('keeps the very value where the string is one reference', () => {
    expect(resolve('${steps.build.output}')).toBe(scope.steps.build.output);
  });

  it.each([
    [
      '${agent.metdata.status}',
      '"agent.metdata.status" does not exist: "agent" has no "metdata".',
      'Did you mean "agent.metadata.status"?',
    ],
    [
      '${agent.metadata.stauts}',
      '"agent.metadata.stauts" does not exist: "agent.metadata" has no "stauts".',
      'Did you mean "agent.metadata.status"?',
    ],
    [
      '${agent.list[7]}',
      '"agent.list[7]" does not exist: "agent.list" is a list of 2 and has no [7].',
      '"agent.list" is as far as it goes.',
    ],
    [
      '${vars.text.x}',
      '"vars.text.x" does not exist: "vars.text" is a string.',
      '"vars.text" is as far as it goes.',
    ],
    [
      '${steps.deploy.output}',
      '"steps.deploy.output" does not exist: "steps" has no "deploy".',
      'There are: steps.build.',
    ],
    ['a ${run.id}', '"run.id" does not exist: Here has no "run".', 'There are: agent, vars, steps, file.'],
  ])('%s: the error names the nearest path that exists', (text, message, hint) => {
    const result = resolveTemplate(read(text), scope);
    expect(result).toMatchObject({ ok: false, error: { code: 'no_such_path', message } });
    expect(!result.ok && result.error.hint).toContain(hint);
    expect(!result.ok && result.error.offset).toBe(text.indexOf('$'));
  });

  it('of several alternatives that lead nowhere the last is named', () => {
    expect(resolveTemplate(read('${vars.absent ?? steps.build.other.deep}'), scope)).toMatchObject({
      error: { message: '"steps.build.other.deep" does not exist: "steps.build" has no "other".' },
    });
  });

  it('an empty map and null are called that', () => {
    const error = (text: string) => {
      const result = resolveTemplate(read(text), { vars: { empty: {}, nothing: null } });
      return result.ok ? undefined : result.error;
    };
    expect(error('${vars.empty.x}')?.hint).toContain('"vars.empty" is empty.');
    expect(error('${vars.nothing.x}')).toMatchObject({
      message: '"vars.nothing.x" does not exist: "vars.nothing" is null.',
      hint: expect.stringContaining('"vars.nothing" is as far as it goes.'),
    });
  });

  it('twelve keys are shown, and that there are more', () => {
    const hint = (count: number) => {
      const vars = Object.fromEntries(Array.from({ length: count }, (_, i) => [`key${i}`, i]));
      const result = resolveTemplate(read('${vars.zzzzzzzz}'), { vars });
      return result.ok ? undefined : result.error.hint;
    };
    expect(hint(12)).toContain('vars.key11. For');
    expect(hint(13)).toContain('vars.key11, …. For');
  });

  it('a text that grows too large is an error', () => {
    const large = { vars: { a: 'x'.repeat(5_000_000) } };
    expect(resolveTemplate(read('${vars.a}${vars.a}'), large)).toMatchObject({
      error: {
        code: 'too_large',
        message: 'The resolved text has more than 8388608 characters.',
        hint: 'Refer to a part of the value.',
        offset: 9,
      },
    });
    const just = { vars: { a: 'x'.repeat(8_388_607) } };
    expect(resolveTemplate(read('${vars.a}y'), just)).toMatchObject({ ok: true });
    expect(resolveTemplate(read('${vars.a}yz'), just)).toMatchObject({ ok: false });
  });
});

describe('reading', () => {
  it('gives pieces with their offsets', () => {
    expect(read('a $${ ${NAME:-x y} ${vars.a[0] ?? 1}!').pieces).toEqual([
      { kind: 'text', text: 'a ${ ', offset: 0 },
      { kind: 'env', name: 'NAME', default: 'x y', source: '${NAME:-x y}', offset: 6 },
      { kind: 'text', text: ' ', offset: 18 },
      {
        kind: 'reference',
        root: 'vars',
        path: ['a', 0],
        otherwise: [{ kind: 'value', value: 1 }],
        source: '${vars.a[0] ?? 1}',
        offset: 19,
      },
      { kind: 'text', text: '!', offset: 36 },
    ]);
  });

  it('a bare name is the environment unless it is reserved or given', () => {
    const kind = (text: string, names: readonly string[] = []) => read(text, names).pieces[0]?.kind;
    for (const name of ['agent', 'steps', 'vars', 'run', 'trigger', 'input', 'item'])
      expect(kind(`\${${name}}`)).toBe('reference');
    expect(kind('${HOME}')).toBe('env');
    expect(kind('${file}')).toBe('env');
    expect(kind('${file}', ['file'])).toBe('reference');
  });

  it.each<[string, string, number, unknown]>([
    ['a ${vars.x', 'not_closed', 2, expect.stringContaining('$${')],
    ['${}', 'empty_reference', 2, expect.anything()],
    ['x ${ }', 'empty_reference', 4, expect.anything()],
    ['${setps.a.output}', 'unknown_root', 2, expect.stringContaining('Did you mean "steps"?')],
    ['${HOME.x}', 'unknown_root', 2, expect.stringContaining('An environment variable has no path')],
    ['${vars.}', 'bad_path', 7, expect.anything()],
    ['${vars.a b}', 'bad_path', 8, expect.not.stringContaining('of type script')],
    ['${vars.rounds + 1}', 'bad_path', 13, expect.stringContaining('a step of type script')],
    ['${steps.a.output[0].n*2 ?? 3}', 'bad_path', 21, expect.stringContaining('a step of type script')],
    ['${vars[x]}', 'bad_path', 6, expect.anything()],
    ['${vars:-x}', 'bad_default', 6, expect.stringContaining('${a.b ?? default}')],
    ['${vars.a ?? {"a"}}', 'bad_default', 12, expect.anything()],
    ['${vars.a ?? vars.}', 'bad_path', 17, expect.anything()],
    ['${vars.a ?? 1 ?? vars.}', 'bad_path', 22, expect.anything()],
    ['${vars.a ?? "}', 'not_closed', 0, expect.anything()],
    ["${vars.a ?? '}", 'not_closed', 0, expect.anything()],
    ['${[0].a}', 'unknown_root', 2, expect.anything()],
  ])('%s: %s at %i', (text, code, offset, hint) => {
    expect(issuesOf(text)).toEqual([expect.objectContaining({ code, offset, hint })]);
  });

  it('reports every bad reference of a text, with line and column', () => {
    expect(issuesOf('${}\n${foo.a} ${vars.ok}\n  ${vars.}')).toMatchObject([
      { line: 1, column: 3 },
      { line: 2, column: 3 },
      { line: 3, column: 10 },
    ]);
  });
});

describe('the environment', () => {
  const fill = (text: string, env: Record<string, string>) => {
    const filled = fillEnvironment(read(text), (name) => env[name]);
    return filled.ok ? filled.value : filled.error;
  };

  it('is put in as text, and a default stands for an unset or empty variable', () => {
    expect(fill('${A}-${B:-b}-${C:-c}', { A: '1', C: '' })).toMatchObject({
      source: '1-b-c',
      pieces: [{ kind: 'text', text: '1-b-c' }],
    });
  });

  it('that is set wins over a default, and one that is empty is empty where there is none', () => {
    expect(fill('${A:-a}${B}', { A: '1', B: '' })).toMatchObject({ source: '1' });
  });

  it('ends a default at the first brace, whatever stands in it', () => {
    expect(fill('${A:-{}|${ B:-"}|${_c1:-\'}', {})).toMatchObject({ source: '{|"|\'' });
  });

  it('every unset variable is reported', () => {
    expect(fill('${A} ${B} ${C:-}', {})).toMatchObject([
      {
        code: 'env_unset',
        offset: 0,
        message: 'The environment variable A is not set.',
        hint: 'Set it, or write a default: ${A:-…}.',
      },
      { code: 'env_unset', offset: 5 },
    ]);
  });

  it('what a variable holds is never read as a reference', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('$', '{', '}', 'a', 'vars.b') }),
        fc.string({ unit: fc.constantFrom('$', '{', ' ') }),
        (value, tail) => {
          const filled = fill(`x\${A}${escapeTemplate(tail, true)}\${vars.count}`, {
            A: value,
          }) as Template;
          const again = resolveTemplate(read(filled.source), scope);
          const text = `x${value}${tail}`;
          return (
            again.ok &&
            again.value === `${text}3` &&
            filled.pieces.filter(({ kind }) => kind === 'reference').length === 1
          );
        },
      ),
      { numRuns: moreRuns(2_000) },
    );
  });
});

describe('a template', () => {
  it('comes back as it was written, piece by piece', () => {
    const text = fc.string({ unit: fc.constantFrom('$', '{', '}', 'a', ' ', '"') });
    const reference = fc.constantFrom(
      '${vars.a}',
      '${steps.b.output[0]}',
      '${A}',
      '${A:-b}',
      "${vars.a ?? 'x'}",
      '${item}',
    );
    const piece = fc.oneof(
      text.map((value) => ({ kind: 'text', value }) as const),
      reference.map((value) => ({ kind: 'reference', value }) as const),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (parts) => {
        // Text before a reference keeps its dollars by doubling them, as everywhere before a brace.
        let source = '';
        let pending = '';
        const expected: string[] = [];
        for (const part of parts) {
          if (part.kind === 'text') pending += part.value;
          else {
            source += escapeTemplate(pending, true) + part.value;
            if (pending !== '') expected.push(pending);
            expected.push(part.value);
            pending = '';
          }
        }
        source += escapeTemplate(pending);
        if (pending !== '') expected.push(pending);
        const { pieces } = read(source);
        expect(pieces.map((p) => (p.kind === 'text' ? p.text : p.source))).toEqual(expected);
        expect(formatTemplate(pieces)).toBe(source);
      }),
      { numRuns: moreRuns(2_000) },
    );
  });

  it('answers any text with pieces or issues, never with a throw', () => {
    const unit = fc.constantFrom(
      '$',
      '{',
      '}',
      '${',
      '?',
      '??',
      'vars',
      '.',
      '[',
      ']',
      '0',
      '"',
      "'",
      ':-',
      'A',
      ' ',
      '\\',
      '\n',
    );
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 30 }), (text) => {
        const parsed = parseTemplate(text);
        if (!parsed.ok) return parsed.error.every(({ offset = -1 }) => offset >= 0 && offset <= text.length);
        resolveTemplate(parsed.value, scope);
        return parsed.value.pieces.every(
          (piece) => piece.kind === 'text' || text.startsWith(piece.source, piece.offset),
        );
      }),
      { numRuns: moreRuns(4_000) },
    );
  });
});
