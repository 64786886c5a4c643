import { describe, expect, it } from 'vitest';
import { decodeSource } from '../../src/manifest/decode-source.ts';
import { readManifests } from '../../src/manifest/read-manifests.ts';

/** `code «what the caret stands under» hint`, one for each diagnostic. */
function shown(text: string): string[] {
  const decoded = decodeSource('x.yml', Buffer.from(text));
  if (!decoded.ok) throw new Error(decoded.diagnostic.message);
  return readManifests(decoded.source, {}).diagnostics.map(({ code, excerpt, hint }) => {
    const { text: line = '', caretFrom = 0, caretLength = 0 } = excerpt ?? {};
    return `${code} «${line.slice(caretFrom, caretFrom + caretLength)}» ${hint ?? ''}`.trim();
  });
}

const agent = (keys: string) => shown(`kind: Agent\nname: a\n${keys}\n`);
const workflow = (keys: string) => shown(`kind: Workflow\nname: w\n${keys}\n`);
const trigger = (conditions: string) =>
  workflow(
    `steps: [{ name: s, type: notify, message: m }]\ntrigger: { type: metadata_match, conditions: ${conditions} }`,
  );

describe('one mistake is one error', () => {
  it.each([
    ['a text', 'memory: { graph: [] }', 'Write text that is not empty.'],
    ['a path', 'permissions: { paths: [[]] }', 'Write text that is not empty.'],
    ['a tool', 'import: { tools: [[]] }', 'Write text that is not empty.'],
  ])('where an empty list stands for %s', (_what, keys, hint) => {
    expect(agent(keys)).toEqual([`wrong_type «[]» ${hint}`]);
  });

  it('where a transition names a state that is not there, and so leaves another unreached', () => {
    expect(workflow('initial: a\nstates: { a: { transitions: [{ to: bb }] }, b: { final: true } }')).toEqual([
      'unknown_state «bb» Did you mean "b"?',
    ]);
    expect(
      workflow('initial: a\nstates: { a: {}, b: { final: true } }\ntransitions: [{ from: aa, to: b }]'),
    ).toEqual(['unknown_state «aa» Did you mean "a"?']);
  });

  it('where the methods of an artifact are a list', () => {
    expect(shown('kind: Artifact\nname: f\nsource: x\nmethods: [m]\n')).toEqual([
      'wrong_type «[m]» Write a map.',
    ]);
  });
});

describe('a key of a condition that is none', () => {
  it.each([
    ['an operator', '{ a: { ">=": 1 } }', '">="'],
    ['an operator at the top', '{ $gt: 1 }', '$gt'],
    ['a path without a name in it', '{ "a..b": 12345 }', '"a..b"'],
    ['a path with a bracket too many', '{ "a.b.c[": some text }', '"a.b.c["'],
  ])('has the caret under itself: %s', (_what, conditions, under) => {
    expect(trigger(conditions)).toEqual([expect.stringContaining(`bad_conditions «${under}»`)]);
  });
});

describe('the hint of a name that cannot be one', () => {
  it('says that a dash may stand in it, where it may', () => {
    expect(agent('models: { "a b": a/b }')).toEqual([
      'bad_name «"a b"» Write a name of letters, digits, "_" and "-" that begins with a letter or "_".',
    ]);
  });

  it('says why none may, where it may not', () => {
    expect(agent('metadata: { fields: { a-b: { type: string } } }')).toEqual([
      'bad_name «a-b» Write a name of letters, digits and "_" that begins with a letter or "_" ("-" is minus in CEL).',
    ]);
  });
});

describe('the hint of a permission', () => {
  const forms = 'Write allow, ask or deny; a list of what is allowed; or a map of those three, a list each.';
  it.each([
    ['shell: true', `wrong_type «true» ${forms}`],
    ['paths: ./src', `not_allowed «./src» ${forms}`],
    ['network: alow', `not_allowed «alow» Did you mean "allow"? ${forms}`],
  ])('names all its forms: %s', (keys, said) => {
    expect(agent(`permissions: { ${keys} }`)).toEqual([said]);
  });
});
