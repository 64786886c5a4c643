// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of manifests, not of JavaScript
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseDocument } from 'yaml';
import { substituteEnv } from '../../src/manifest/environment.ts';
import { formatDiagnostic } from '../../src/manifest/format-diagnostic.ts';
import { loadManifests } from '../../src/manifest/load-manifests.ts';
import { readManifests } from '../../src/manifest/read-manifests.ts';
import { decodeSource } from '../../src/manifest/source-text.ts';
import { readPlainScalar } from '../../src/manifest/yaml/read-value.ts';
import { temporaryProject } from './temporary-project.ts';

const read = (text: string, env: Record<string, string>) => {
  const decoded = decodeSource('a.yml', new TextEncoder().encode(text));
  if (!decoded.ok) throw new Error(decoded.diagnostic.message);
  const { documents, diagnostics } = readManifests(decoded.source, env);
  return {
    value: documents[0]?.value as Record<string, never>,
    codes: diagnostics.map(({ code }) => code),
    text: diagnostics.map((each) => formatDiagnostic(each)).join('\n'),
    diagnostics,
  };
};
const scalar = (written: string, env: Record<string, string> = {}) => read(`v: ${written}\n`, env).value.v;

describe('an environment variable', () => {
  it('in a plain scalar is read again, so that it can be a number or a boolean', () => {
    expect(scalar('${N}', { N: '5' })).toBe(5);
    expect(scalar('${N:-5}')).toBe(5);
    expect(scalar('1${N}', { N: '5' })).toBe(15);
    expect(scalar('${B}', { B: 'true' })).toBe(true);
    expect(scalar('${E:-}')).toBe(null);
    expect(scalar('${V}', { V: 'a: b # c' })).toBe('a: b # c');
  });

  it('in quotes or a block stays text', () => {
    expect(scalar('"${N}"', { N: '5' })).toBe('5');
    expect(scalar("'${N:-5}'")).toBe('5');
    expect(scalar('"${E:-}"')).toBe('');
    expect(read('v: |\n  ${N}\n', { N: '5' }).value.v).toBe('5\n');
  });

  it('takes its default when it is unset or empty, as in a shell', () => {
    expect(scalar('"${N:-a:-b}"')).toBe('a:-b');
    expect(scalar('"${N:-x}"', { N: '' })).toBe('x');
    expect(scalar('"${N}"', { N: '' })).toBe('');
  });

  it('that is set wins over its default', () => {
    expect(scalar('"${N:-x} ${M:-}"', { N: 'y', M: '0' })).toBe('y 0');
    expect(scalar('${N:-5}', { N: '6' })).toBe(6);
  });

  it.each([
    [
      '${A:-${B}}',
      'The default of ${A:-…} contains another reference.',
      'A default is plain text. Use one variable with one default.',
    ],
    ['a ${A', '${A has no "}".', 'Write ${A}, or $${ to get the two characters themselves.'],
    ['${A:-b', '${A has no "}".', 'Write ${A}, or $${ to get the two characters themselves.'],
    ['${B:-b} ${A', '${A has no "}".', 'Write ${A}, or $${ to get the two characters themselves.'],
    ...['${A:8080}', '${A-x}', '${A:?x}', '${A=x}', '${A?}', '${A+x}', '${A#x}', '${ A:+x }'].map(
      (written): [string, string, string] => [
        written,
        `"${written}" is not a reference to an environment variable.`,
        'Write ${A} or ${A:-default}; $${ is to get the two characters themselves.',
      ],
    ),
  ])('written as %s is an error that shows the right form', (written, message, hint) => {
    const { diagnostics } = read(`v: ${JSON.stringify(written)}\n`, { A: 'x' });
    expect(diagnostics.filter(({ code }) => code === 'env_syntax')).toMatchObject([
      { severity: 'error', message, hint },
    ]);
  });

  it('is reported sixteen times in one text at the most', () => {
    const unset = (count: number) =>
      read(`v: "${'${X} '.repeat(count)}"\n`, {}).codes.filter((code) => code === 'env_unset').length;
    expect([unset(16), unset(17)]).toEqual([16, 16]);
  });

  it('is not looked up in the prototype of the record', () => {
    expect(read('v: ${constructor}\n', {}).codes).toContain('env_unset');
    expect(read('v: ${toString}\n', {}).codes).toContain('env_unset');
  });

  it('is never looked through for more references, now or when a step runs', () => {
    expect(scalar('"${A}"', { A: '${B}', B: 'secret' })).toBe('$${B}');
    expect(scalar('"${A}"', { A: '${agent.metadata}' })).toBe('$${agent.metadata}');
    expect(scalar('"${A}{B}"', { A: '$', B: 'x' })).toBe('$${B}');
    expect(scalar('"${A}{B}"', { A: '$1 $', B: 'x' })).toBe('$1 $${B}');
    expect(scalar('"${A}"', { A: 'costs $' })).toBe('costs $');
  });

  it('that is unset and has no default is an error at the reference, once for each', () => {
    const { diagnostics } = read('v: "a ${X} b ${Y:-1} c ${Z}"\n', {});
    const unset = diagnostics.filter(({ code }) => code === 'env_unset');
    expect(unset.map(({ column }) => column)).toEqual([7, 24]);
  });

  it('points into folded, literal and escaped text', () => {
    const unset = (text: string) => {
      const found = read(text, {}).diagnostics.find(({ code }) => code === 'env_unset');
      return [found?.line, found?.column];
    };
    expect(unset('v: |\n    one\n    two ${X}\n')).toEqual([3, 9]);
    expect(unset('v: >-\n  one\n  two\n  ${X}\n')).toEqual([4, 3]);
    expect(unset('v: "a\\n\\t\\u0041 ${X}"\n')).toEqual([1, 17]);
    expect(unset("v: 'it''s ${X}'\n")).toEqual([1, 11]);
    expect(unset('v: "one\n  two ${X}"\n')).toEqual([2, 7]);
  });

  it('leaves runtime references, escapes and other braces alone', () => {
    for (const text of [
      '${agent.metadata.status}',
      '${item}',
      '${steps.a.output ?? "x"}',
      '$${HOME}',
      '${}',
      '$HOME',
      '{name}',
    ])
      expect(scalar(JSON.stringify(text), { HOME: 'no', item: 'no' })).toBe(text);
  });

  it('reads dollars before a brace in pairs', () => {
    expect(scalar('"$$${A}"', { A: 'x' })).toBe('$$x');
    expect(scalar('"$$$${A}"', { A: 'x' })).toBe('$$$${A}');
  });

  it('is not put into code', () => {
    expect(read('source: "`${HOME}`"\nscript: "${HOME}"\n', { HOME: 'no' }).value).toEqual({
      source: '`${HOME}`',
      script: '${HOME}',
    });
  });

  it('in "enabled" is a switch: unset, empty, 0, false and no are off', () => {
    const enabled = (scalar: string, env: Record<string, string> = {}) => {
      const result = read(`enabled: ${scalar}\n`, env);
      expect(result.codes).not.toContain('env_unset');
      return result.value.enabled;
    };
    expect(enabled('${F}')).toBe(false);
    for (const off of ['', '0', 'false', 'no', 'NO', ' False '])
      expect(enabled('${F}', { F: off })).toBe(false);
    for (const on of ['1', 'true', 'yes', 'sk-123']) expect(enabled('"${F}"', { F: on })).toBe(true);
    expect(enabled('${F:-no}')).toBe(false);
    expect(enabled('"vars.x == ${F}"')).toBe(false);
    expect(enabled('"vars.x == ${F}"', { F: '3' })).toBe('vars.x == 3');
  });

  it('never shows its value in a message', () => {
    const secret = 'Sk-Live-9f8e7d6c';
    const wrong = [
      'dialect: ${KEY}',
      'limits:\n  wall: ${KEY}',
      'limits:\n  wall: 5${KEY}',
      'name: ${KEY} ${KEY}',
      'metadata:\n  fields:\n    a: { type: "${KEY}" }',
      'import:\n  tools: ["builtin:${KEY}"]',
    ];
    for (const line of wrong) {
      const { text } = read(`kind: Agent\nname: x\n${line}\n`, { KEY: secret });
      expect(text).not.toBe('');
      expect(text.toLowerCase()).not.toMatch(/sk-l|live|9f8e|7d6c/);
    }
    expect(read('kind: Agent\nname: x\nlimits:\n  turns: ${N}\n', { N: '-17' }).text).not.toContain('-17');
  });
});

describe('a plain scalar that is read again', () => {
  it('means what YAML says it means', () => {
    const anything = fc.oneof(
      fc.string({ unit: 'binary-ascii', maxLength: 8 }).filter((text) => /^[\w.+-]+$/.test(text)),
      fc.constantFrom(
        '~',
        'null',
        'Null',
        'true',
        'FALSE',
        '0o17',
        '0xfF',
        '1e3',
        '-.5',
        '+1.',
        '.5e-3',
        '012',
        '1_000',
        'yes',
      ),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
    );
    fc.assert(
      fc.property(anything, (text) => {
        const document = parseDocument(text);
        fc.pre(document.errors.length === 0);
        const expected: unknown = document.toJS();
        fc.pre(
          expected === null || ['string', 'boolean'].includes(typeof expected) || Number.isFinite(expected),
        );
        expect(readPlainScalar(text)).toEqual(expected);
      }),
    );
  });

  it('keeps every piece mapped to where it was written', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('a', '${A}', '${B:-bb}', '$', '{', '}', '${', '$${A}')),
        (parts) => {
          const raw = parts.join('');
          const result = substituteEnv(raw, { A: 'value' });
          if (result === undefined) return;
          expect(result.pieces.map(({ rawStart, rawEnd }) => raw.slice(rawStart, rawEnd)).join('')).toBe(raw);
          expect(result.pieces.at(-1)?.outEnd).toBe(result.text.length);
        },
      ),
    );
  });
});

it('what a foreach names by "as" is no environment variable in that document', async () => {
  const step = (name: string) =>
    `kind: Workflow\nname: w\nsteps:\n  - name: each\n    type: foreach\n    in: "\${input.list}"\n    as: file\n    body: [{ name: tell, type: notify, message: "\${${name}} and \${${name}.path}" }]\n`;
  const codes = async (name: string) => {
    const cwd = temporaryProject({ 'w.yml': step(name) });
    const { diagnostics } = await loadManifests(['w.yml'], { env: { file: 'from the environment' }, cwd });
    return diagnostics.map(({ code }) => code);
  };
  expect(await codes('file')).toEqual([]);
  expect(await codes('fiel')).toContain('env_unset');
});

it('what a step brought is "output" where it is undone, and nowhere else', async () => {
  const workflow = (inCompensate: string, inStep: string) =>
    `kind: Workflow\nname: w\nsteps:\n  - name: a\n    type: tool\n    target: t\n    parameters: { x: "${inStep}" }\n    compensate: { target: t, parameters: { whole: "${inCompensate}", part: "\${output.id}" } }\n`;
  const found = async (inCompensate: string, inStep: string) => {
    const cwd = temporaryProject({ 'w.yml': workflow(inCompensate, inStep) });
    const { diagnostics } = await loadManifests(['w.yml'], { env: { output: 'not this' }, cwd });
    // No agent brings the tool along.
    return diagnostics.flatMap(({ code, line }) => (code === 'unknown_tool' ? [] : [`${code} ${line}`]));
  };
  expect(await found('${output}', 'plain')).toEqual([]);
  expect(await found('${outpt.id}', 'plain')).toEqual(['bad_reference 8']);
  expect(await found('${output}', '${output.id}')).toEqual(['bad_reference 7']);
});

it('what failed is "error" where it is caught', async () => {
  const cwd = temporaryProject({
    'w.yml':
      'kind: Workflow\nname: w\nsteps:\n  - name: t\n    type: try\n    body: [{ name: a, type: notify, message: x }]\n    catch: [{ name: b, type: notify, message: "${error}" }]\n',
  });
  expect((await loadManifests(['w.yml'], { env: { error: 'not this' }, cwd })).diagnostics).toEqual([]);
});

it('a long variable that is named again and again meets a limit, in one text or in many', () => {
  const env = { LONG: 'x'.repeat(5_000) };
  const diagnostics = (keys: string) => {
    const decoded = decodeSource('x.yml', Buffer.from(`kind: Agent\nname: a\n${keys}`));
    return decoded.ok ? readManifests(decoded.source, env).diagnostics : [decoded.diagnostic];
  };
  const many = '${LONG}'.repeat(140_000);
  expect(diagnostics(`instructions: "${'${LONG}'.repeat(200)}"\n`)).toEqual([]);
  expect(diagnostics(`instructions: "${many}"\n`)[0]).toMatchObject({ code: 'too_large', line: 3 });
  const fields = Array.from(
    { length: 300 },
    (_, at) => `    f${at}: { type: string, default: "\${LONG}" }\n`,
  );
  const found = diagnostics(`metadata:\n  limits: { fields: 300 }\n  fields:\n${fields.join('')}`);
  expect(found[0]).toMatchObject({ code: 'too_large', line: 6 + Math.floor((1024 * 1024) / 5_000) });
});

it.each([
  ['${itm}', 'Did you mean ${item}? Set it, or write a default: ${itm:-…}.'],
  ['${fil}', 'Did you mean ${file}? Set it, or write a default: ${fil:-…}.'],
  ['${ITM}', 'Set it, or write a default: ${ITM:-…}.'],
  ['${token}', 'Set it, or write a default: ${token:-…}.'],
])('an unset variable that is nearly a reference of the run is told so: %s', (written, hint) => {
  const step = (name: string, as: string, message: string) =>
    `- { name: ${name}, type: foreach, in: [1], as: ${as}, body: [{ name: b_${name}, type: notify, message: "${message}" }] }\n`;
  const decoded = decodeSource(
    'x.yml',
    Buffer.from(`kind: Workflow\nname: w\nsteps:\n${step('a', 'file', written)}`),
  );
  if (!decoded.ok) throw new Error(decoded.diagnostic.message);
  expect(readManifests(decoded.source, {}).diagnostics).toMatchObject([{ code: 'env_unset', hint }]);
});

it('a variable that comes out empty is not just called null', () => {
  const told = read('kind: Agent\nname: a\ndescription: ${EMPTY}\ninstructions: ${X:-}\nmodel: null\n', {
    EMPTY: '',
  });
  expect(told.text).toContain('"description" cannot be null, so this value is empty. [wrong_type]');
  expect(told.text).toContain('"instructions" cannot be null, so this value is empty. [wrong_type]');
  expect(told.text).toContain('→ Write text. In quotes it is empty text.');
  expect(told.text).toContain('"model" cannot be null. [wrong_type]');
  expect(read('kind: Agent\nname: a\ndescription: "${EMPTY}"\n', { EMPTY: '' }).codes).toEqual([]);
});

it('a number or a switch that quotes make a text is told from one that is none', () => {
  const hints = (turns: string, seal: string) =>
    read('kind: Agent\nname: a\nmodel: a/b\nlimits: { turns: "${TURNS}" }\nprotocol: { seal: "${SEAL}" }\n', {
      TURNS: turns,
      SEAL: seal,
    }).text.match(/→ .*/g);
  const unquoted = 'In quotes it is text. Write it without quotes, with the key on its own line.';
  expect(hints('5', 'true')).toEqual([
    `→ Write true or false. ${unquoted}`,
    `→ Write a whole number of one or more. ${unquoted}`,
  ]);
  expect(hints('five', '5')).toEqual(['→ Write true or false.', '→ Write a whole number of one or more.']);
  const bare = 'kind: Agent\nname: a\nmodel: a/b\nlimits:\n  turns: ${TURNS}\n';
  expect(read(bare, { TURNS: '5' }).codes).toEqual([]);
});
