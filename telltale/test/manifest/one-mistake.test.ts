// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of manifests, not of JavaScript
import { describe, expect, it } from 'vitest';
import { loadManifests } from '../../src/manifest/load-manifests.ts';
import { readManifests } from '../../src/manifest/read-manifests.ts';
import { decodeSource } from '../../src/manifest/source-text.ts';
import { temporaryProject } from './temporary-project.ts';

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

const BODY = '[{ name: b, type: notify, message: m }]';

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

  it.each([
    ['a step by "id"', '{ id: a, type: notify, message: m }', '«id» A step is named by "name".'],
    [
      'a loop over "steps"',
      `{ name: a, type: loop, while: "true", max: 1, steps: ${BODY} }`,
      '«steps» Use "body".',
    ],
    ['tries by "times"', '{ name: a, type: notify, message: m, retry: { times: 3 } }', '«times» Use "max".'],
    [
      'a case by "when"',
      `{ name: a, type: switch, cases: [{ when: "true", body: ${BODY} }] }`,
      '«when» Use "if".',
    ],
    ['one of a group', '{ name: a, type: task, instructions: x }', '«instructions» Use "prompt".'],
  ])('where a key that must be there stands by another name: %s', (_what, step, said) => {
    expect(workflow(`steps: [${step}]`)).toEqual([`unknown_key ${said}`]);
  });

  it('where action templates are a list', async () => {
    const cwd = temporaryProject({ 'a.yml': 'kind: Agent\nname: a\naction_templates: [{ name: x }]\n' });
    const { diagnostics } = await loadManifests(['a.yml'], { env: {}, cwd });
    expect(diagnostics.map(({ code, hint }) => `${code} ${hint}`)).toEqual(['wrong_type Write a map.']);
  });

  it('where the name of a method is none at all', () => {
    expect(shown('kind: Artifact\nname: f\nmodule: ./f.js\nmethods: { 2nd: {} }\n')).toEqual([
      'bad_name «2nd» Write a name of letters, digits, "_" and "-" that begins with a letter or "_".',
    ]);
  });

  it.each([
    ['are a list', '[{ name: a }]', 'wrong_type «[{ name: a }]» Write a map.'],
    ['end by a word', '{ a: { final: yes } }', 'wrong_type «yes» Write true or false.'],
    [
      'are left by another key',
      '{ a: { on: { next: b } }, b: { final: true } }',
      'unknown_key «on» Use "transitions", a list of { to, condition }.',
    ],
    [
      'are left by a map',
      '{ a: { transitions: { to: b } }, b: { final: true } }',
      'wrong_type «{ to: b }» Write a list.',
    ],
  ])('where states %s', (_what, states, said) => {
    expect(workflow(`initial: a\nstates: ${states}`)).toEqual([said]);
  });

  it('which another one inside of it does not hide', () => {
    expect(
      workflow(
        'steps:\n  - { name: f, type: foreach, in: [1], body: { name: s, type: notify, message: "${itm}" } }',
      ),
    ).toEqual([
      'env_unset «${itm}» Did you mean ${item}? Set it, or write a default: ${itm:-…}.',
      'wrong_type «{ name: s, type: notify, message: "${itm}" }» Write a list.',
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
    expect(agent('prompts: { "a b": { template: x } }')).toEqual([
      'bad_name «"a b"» Write a name of letters, digits, "_" and "-" that begins with a letter or "_".',
    ]);
    expect(agent('models: { "a b": a/b }')).toEqual([
      'bad_name «"a b"» Write a name of letters, digits, "_", "-", ".", ":", "/" and "@".',
    ]);
  });

  it('says why none may, where it may not', () => {
    expect(agent('metadata: { fields: { a-b: { type: string } } }')).toEqual([
      'bad_name «a-b» Write a name of letters, digits and "_" that begins with a letter or "_" ("-" is minus in CEL).',
    ]);
  });
});

describe('the hint of a permission', () => {
  const forms =
    'Write allow, ask or deny, a list of what is allowed, or a map with a list for each of the three.';
  it.each([
    ['shell: true', `wrong_type «true» ${forms}`],
    ['paths: ./src', `not_allowed «./src» ${forms}`],
    ['network: alow', `not_allowed «alow» Did you mean "allow"? ${forms}`],
  ])('names all its forms: %s', (keys, said) => {
    expect(agent(`permissions: { ${keys} }`)).toEqual([said]);
  });
});

describe('the hint of a value of the wrong shape', () => {
  it.each([
    ['import: { tools: ./tools/*.yml }', 'wrong_type «./tools/*.yml» Write a list: [./tools/*.yml].'],
    ['import: { tools: "${X:-}" }', 'wrong_type «"${X:-}"» Write a list.'],
    ['import: { tools: { a: b } }', 'wrong_type «{ a: b }» Write a list.'],
    ['memory: ./', 'wrong_type «./» Write a map with graph, inject.'],
    ['prompts: { s: Summarize }', 'wrong_type «Summarize» Write a map with template, model, description.'],
  ])('shows the right one: %s', (keys, said) => {
    expect(agent(keys)).toEqual([said]);
  });

  it.each([
    ['who: string', 'bad_schema «string» Write { type: string }.'],
    ['who: nobody', 'bad_schema «nobody» Write a JSON Schema: a map, or true or false.'],
  ])('shows it in a JSON Schema: %s', (property, said) => {
    expect(workflow(`steps: ${BODY}\ninput: { properties: { ${property} } }`)).toEqual([said]);
  });
});

describe('what is meant is said', () => {
  it.each([
    [
      'of the beginning of a name',
      '{ type: metadata, conditions: { a: 1 } }',
      'not_allowed «metadata» Did you mean "metadata_match"? Allowed: metadata_match, variable_match, event, schedule, webhook, manual.',
    ],
    ['of a key in the place of a type', '{ event: action.failed }', 'missing «trigger» Write "type: event".'],
    [
      'of a key that stands further in',
      '{ type: manual, when_busy: skip }',
      'unknown_key «when_busy» Put it in "concurrency: { max, when_busy }".',
    ],
  ])('%s', (_what, trigger, said) => {
    expect(workflow(`steps: ${BODY}\ntrigger: ${trigger}`)).toEqual([said]);
  });

  it('of a step that names what it calls in place of its type', () => {
    expect(workflow('steps: [{ name: a, tool: git }]')).toEqual([
      'missing «{ name: a, tool: git }» Write "type: tool" and "target: NAME".',
    ]);
  });

  it('of a property that stands beside "type" in a JSON Schema', () => {
    expect(workflow(`steps: ${BODY}\ninput: { who: { type: string } }`)).toEqual([
      'unknown_keyword «who» It has no effect. Put a property into "properties: { NAME: … }".',
    ]);
  });

  it('of braces round an expression', () => {
    expect(workflow('steps: [{ name: a, type: notify, message: m, if: "{{ vars.x }}" }]')).toEqual([
      'bad_expression «}» Names stand without braces here: vars.name, not {{ vars.name }}.',
    ]);
  });

  it('of a key that is indented as nothing else', () => {
    expect(workflow('steps:\n  - name: a\n    type: notify\n   message: m')).toEqual([
      'yaml_syntax «message: m» Indent it like the other keys of the entry, or start a new entry with "- ".',
    ]);
  });

  it('of what a called workflow is given', () => {
    expect(workflow('steps: [{ name: a, type: workflow, target: w2, input: {} }]')).toEqual([
      'unknown_key «input» Use "parameters".',
    ]);
  });

  it.each(['input', 'inputs', 'params', 'args', 'with'])(
    'of "%s", which is "parameters" only in a step that has them',
    (key) => {
      expect(workflow(`steps: [{ name: a, type: tool, target: t, ${key}: {} }]`)).toEqual([
        `unknown_key «${key}» Use "parameters".`,
      ]);
      const [only, ...others] = workflow(`steps: [{ name: a, type: notify, message: m, ${key}: {} }]`);
      expect(only).toMatch(new RegExp(`^unknown_key «${key}»`));
      expect(only).not.toContain('parameters');
      expect(others).toEqual([]);
    },
  );

  it('of the beginning of a word of "condition"', () => {
    expect(workflow('steps: [{ name: a, type: notify, message: m, condition: on_fail }]')).toEqual([
      'unknown_name «on_fail» Did you mean "on_failure"?',
    ]);
  });

  it('and of none where that is a variable of the agent in an expression', () => {
    expect(
      workflow('steps: [{ name: a, type: notify, message: m, condition: "previous > 3 && !on_fail" }]'),
    ).toEqual([]);
  });
});
