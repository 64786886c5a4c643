import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { main } from '../../../src/cli/main.ts';
import { evaluateTest } from '../../../src/expressions/cel/evaluate.ts';
import { parseExpression } from '../../../src/expressions/cel/parse-expression.ts';
import type { Entry } from '../../../src/importers/report.ts';
import { toCel } from '../../../src/importers/workrail/conditions.ts';
import { CHECKS_SOURCE } from '../../../src/importers/workrail/criteria.ts';
import { namedVariables, toTemplate } from '../../../src/importers/workrail/templates.ts';
import type { WorkrailCondition } from '../../../src/importers/workrail/workflow-schema.ts';
import type { Json, JsonObject } from '../../../src/lib/json.ts';
import type { WorkflowManifest } from '../../../src/manifest/schema/kinds.ts';
import { validateManifests } from '../../../src/manifest/validate-manifests.ts';
import { graphOf } from '../../../src/workflows/graph/graph-of.ts';
import { temporaryProject } from '../../manifest/temporary-project.ts';
import { moreRuns } from '../../more-runs.ts';
import { recordedIo } from '../recorded-io.ts';
import { everyConstruct, loop, routine, step, workrail } from './every-construct.ts';
import { manifestIn, runImported, type Work } from './run-imported.ts';
import { silentMaps } from './unknown-keys.ts';

/** Beside the repository on the machines where the files are kept; a clone goes without. */
const COMPAT = fileURLToPath(new URL('../../../../../shared/compat/workrail/', import.meta.url));

async function imported(files: Readonly<Record<string, string | JsonObject>>, ...argv: readonly string[]) {
  const texts = Object.entries(files).map(([name, content]) => [
    name,
    typeof content === 'string' ? content : JSON.stringify(content, null, 2),
  ]);
  const cwd = temporaryProject({ 'package.json': '{}', ...Object.fromEntries(texts) });
  return { cwd, ...(await importIn(cwd, ...argv)) };
}

async function importIn(cwd: string, ...argv: readonly string[]) {
  const io = recordedIo({ cwd });
  const code = await main(['import', 'workrail', ...argv], io);
  return { code, out: io.out(), err: io.err() };
}

/** One workflow, imported with its agent: the manifest, and the report. */
async function one(workflow: JsonObject, ...argv: readonly string[]) {
  const { cwd, code, out } = await imported(
    { 'flow.json': workflow },
    'flow.json',
    '--agent',
    '--json',
    ...argv,
  );
  const [file] = JSON.parse(out).files;
  const manifest = manifestIn(cwd, file.workflow);
  return {
    cwd,
    code,
    name: file.workflow as string,
    manifest,
    steps: manifest.steps as readonly JsonObject[],
    entries: file.entries as readonly Entry[],
    text: readFileSync(join(cwd, `${file.workflow}.yml`), 'utf8'),
  };
}

const outcomes = (entries: readonly Entry[], step: string | null) =>
  Object.fromEntries(
    entries.filter((entry) => entry.step === step).map(({ construct, outcome }) => [construct, outcome]),
  );

describe('a condition', () => {
  const names = { variable: (name: string) => name, doubt: () => undefined };
  const holds = (condition: WorkrailCondition, context: JsonObject): boolean => {
    const cel = toCel(condition, names);
    const parsed = parseExpression(cel);
    if (!parsed.ok) throw new Error(`${cel}: ${parsed.error.message}`);
    const result = evaluateTest(parsed.value, { a: null, b: null, c: null, ...context });
    if (!result.ok) throw new Error(`${cel}: ${result.error.message}`);
    return result.value;
  };

  it.each<[WorkrailCondition, JsonObject, boolean]>([
    [{ var: 'a', equals: 'Large' }, { a: ' large ' }, true],
    [{ var: 'a', equals: 'Large' }, { a: 'small' }, false],
    [{ var: 'a', equals: 'Large' }, {}, false],
    [{ var: 'a', not_equals: 'Large' }, {}, true],
    [{ var: 'a', equals: null }, {}, true],
    [{ var: 'a', equals: true }, { a: 'YES' }, true],
    [{ var: 'a', equals: true }, { a: 1 }, false],
    [{ var: 'a', equals: false }, { a: '0' }, true],
    [{ var: 'a', equals: 3 }, { a: '3' }, true],
    [{ var: 'a', equals: '3' }, { a: 3 }, true],
    [{ var: 'a', equals: 'yes' }, { a: true }, true],
    [{ var: 'a', gt: 2 }, { a: 3 }, true],
    [{ var: 'a', gt: 2 }, { a: '3' }, false],
    [{ var: 'a', lte: 2 }, {}, false],
    [{ var: 'a', gte: 0.7 }, { a: 0.7 }, true],
    [{ var: 'a', lt: 1 }, { a: 0 }, true],
    [{ var: 'a', contains: 'SEC' }, { a: ['second', 'first'] }, true],
    [{ var: 'a', contains: 'SEC' }, { a: 'a second' }, true],
    [{ var: 'a', contains: 'sec' }, {}, false],
    [{ var: 'a', startsWith: 'pro' }, { a: 'Production' }, true],
    [{ var: 'a', endsWith: '7' }, { a: 47 }, true],
    [{ var: 'a', matches: '^v\\d+$' }, { a: 'V12' }, true],
    [{ var: 'a', matches: '(?<=x)y' }, { a: 'xy' }, false],
    [{ var: 'a', in: ['One', 'two', 3] }, { a: 'one' }, true],
    [{ var: 'a', in: ['one', 'two'] }, { a: 'Two' }, true],
    [{ var: 'a', in: [] }, { a: 'one' }, false],
    [{ var: 'a' }, { a: 'x' }, true],
    [{ var: 'a' }, { a: 0 }, false],
    [{ var: 'a' }, {}, false],
    [{}, {}, true],
    [{ and: [{ var: 'a' }, { or: [{ var: 'b' }, { var: 'c' }] }] }, { a: 1, c: 1 }, true],
    [{ and: [] }, {}, true],
    [{ or: [] }, {}, false],
    [
      {
        not: {
          or: [
            { var: 'a', equals: 'x' },
            { var: 'a', equals: 'y' },
          ],
        },
      },
      { a: 'Y' },
      false,
    ],
    // Of several operators the first counts.
    [{ var: 'a', equals: 'x', gt: 5 }, { a: 'x' }, true],
  ])('%j over %j is %s, as in WorkRail', (condition, context, expected) => {
    expect(holds(condition, context)).toBe(expected);
  });

  it('says in CEL what the checking artifact says in JavaScript', () => {
    const judge = new Function(`${CHECKS_SOURCE}; return holds;`)() as (
      c: WorkrailCondition,
      v: JsonObject,
    ) => boolean;
    const word = fc.constantFrom('low', 'High ', 'yes', '0', '12', '', 'a"b', '${x}');
    const scalar: fc.Arbitrary<Json> = fc.oneof(
      word,
      fc.integer({ min: -3, max: 12 }),
      fc.boolean(),
      fc.constant(null),
    );
    const leaf: fc.Arbitrary<WorkrailCondition> = fc
      .tuple(
        fc.constantFrom('a', 'b', 'c'),
        fc.oneof(
          scalar.map((equals) => ({ equals })),
          scalar.map((not_equals) => ({ not_equals })),
          fc.integer({ min: -3, max: 12 }).map((gte) => ({ gte })),
          fc.integer({ min: -3, max: 12 }).map((lt) => ({ lt })),
          fc.constantFrom('lo', 'H', '1').map((contains) => ({ contains })),
          fc.array(scalar, { maxLength: 3 }).map((values) => ({ in: values })),
          fc.constant({}),
        ),
      )
      .map(([name, test]) => ({ var: name, ...test }));
    const { condition } = fc.letrec<{ condition: WorkrailCondition }>((tie) => ({
      condition: fc.oneof(
        { depthSize: 'small' },
        leaf,
        fc.array(tie('condition'), { maxLength: 3 }).map((and) => ({ and })),
        fc.array(tie('condition'), { maxLength: 3 }).map((or) => ({ or })),
        tie('condition').map((not) => ({ not })),
      ),
    }));
    const context = fc.dictionary(fc.constantFrom('a', 'b', 'c'), scalar);
    fc.assert(
      fc.property(condition, context, (test, values) => {
        expect(holds(test, values)).toBe(judge(test, values));
      }),
      { numRuns: moreRuns(300) },
    );
  });
});

describe('a text', () => {
  const names = {
    reference: (name: string) => `vars.${name}`,
    binding: () => 'routine-x',
    computed: (expression: string) => (expression === 'i + 1' ? 'steps.v.output.v1' : undefined),
  };

  it.each([
    ['{{a.b}}', "${vars.a.b ?? '[unset: a.b]'}"],
    ['costs ${{price}}', "costs $$${vars.price ?? '[unset: price]'}"],
    ['$HOME, ${HOME} and $${x}', '$HOME, $${HOME} and $$$${x}'],
    ['{{i + 1}} of {{items.length}}', '${steps.v.output.v1} of {{items.length}}'],
    ['by {{wr.bindings.slot}}, {{wr.other}}', 'by routine-x, {{wr.other}}'],
    ['{ "a": {"b": 1}}', '{ "a": {"b": 1}}'],
  ])('%s is the template %s', (text, expected) => {
    expect(toTemplate(text, names)).toBe(expected);
  });

  it('tells which variables it asks for', () => {
    expect([
      ...namedVariables(
        'Do it. Set `done = true` then.\n\nSet context variables:\n- `size`\n- `kind`: one of\n  - `small`\n\nNow:\n- `other`\n\nCapture:\n- **`name`**: it',
      ),
    ]).toEqual(['done', 'size', 'kind', 'name']);
  });
});

describe('telltale import workrail', () => {
  it('speaks of every construct of a file, and of keys that WorkRail does not have', async () => {
    const { cwd, code, out } = await imported(
      { 'every.json': everyConstruct, 'routines/deep-look.json': routine },
      'every.json',
      '--agent',
      '--json',
    );
    expect(code).toBe(0);
    const [{ entries, counts, diagnostics }] = JSON.parse(out).files;
    const said = new Set(
      (entries as readonly Entry[]).map((each) => `${each.step}/${each.construct.split(/[ .]/)[0]}`),
    );
    const silent: string[] = [];
    const look = (value: JsonObject, id: string | null) => {
      for (const key of Object.keys(value))
        if (!said.has(`${id}/${key}`) && key !== 'type') silent.push(`${id}/${key}`);
    };
    look(everyConstruct, null);
    for (const each of everyConstruct.steps as readonly JsonObject[]) {
      look(each, String(each.id));
      if (Array.isArray(each.body))
        for (const inner of each.body as readonly JsonObject[]) look(inner, String(inner.id));
    }
    expect(silent).toEqual([]);
    expect(counts.kept + counts.changed + counts.left).toBe(entries.length);
    const lines = (entries as readonly Entry[]).map(
      ({
        step: id,
        construct,
        outcome,
        how,
      }) => `${outcome.padEnd(8)}${id ?? '(workflow)'} ${construct}: ${how}
`,
    );
    await expect(lines.join('')).toMatchFileSnapshot('expected/report.txt');
    expect(diagnostics.map(({ message }: { message: string }) => message)).toEqual([
      'Unknown key "delegate" in "audit".',
      'Unknown key "changelog" in WorkRail workflow.',
    ]);
    for (const name of ['', '-checks', '-agent'])
      await expect(readFileSync(join(cwd, `wr-every-construct${name}.yml`), 'utf8')).toMatchFileSnapshot(
        `expected/wr-every-construct${name}.yml`,
      );
    const valid = await validateManifests([cwd], { env: {}, cwd });
    expect(valid.diagnostics).toEqual([]);
  });

  it('drops no unknown key silently, in whatever map of a file it is', async () => {
    const project = {
      'every.json': JSON.stringify(everyConstruct),
      'routines/deep-look.json': JSON.stringify(routine),
    };
    expect(await silentMaps('workrail', project, ['every.json'])).toEqual([]);
  }, 120_000);

  it('refuses what is not a workflow, with the place of each mistake, and imports the others', async () => {
    const broken = `{
  "id": "Big_ID",
  "name": "",
  "description": "x",
  "version": "1.0.0",
  "steps": [
    { "id": "one", "title": "One" },
    { "id": "two", "title": "Two", "prompt": "x", "promptBlocks": {}, "runCondition": { "var": 3 } },
    { "id": "three", "type": "loop", "title": "Three", "loop": { "type": "wile", "maxIterations": 0 }, "body": [{ "id": "in", "type": "loop" }] }
  ]
}`;
    const { code, out, cwd } = await imported(
      { 'broken.json': broken, 'no.json': '{ "a": [1, }', 'good.json': workrail([step('one')]) },
      'broken.json',
      'no.json',
      'good.json',
      'gone.json',
    );
    expect(code).toBe(2);
    for (const place of [
      'broken.json:2:9',
      'broken.json:3:11',
      'broken.json:8:',
      'broken.json:9:',
      'no.json:1:',
    ])
      expect(out).toContain(place);
    expect(out).toContain('"type" cannot be "wile".');
    expect(out).toContain('"prompt" and "promptBlocks" cannot be used together in a step.');
    expect(out).toContain('There is no file "gone.json".');
    expect(out).not.toContain('YAML');
    expect(out).toContain('broken.json is not a workflow of WorkRail that can be imported.');
    expect(existsSync(join(cwd, 'my-flow.yml'))).toBe(true);
  });

  it('searches a folder for the files of the format, and says so when there are none', async () => {
    const flow = JSON.stringify(workrail([step('one')]));
    const cwd = temporaryProject({
      'package.json': '{}',
      'old/deep/flow.json': flow,
      'old/other.json': '{"a": 1}',
      'none/other.json': '{"a": 1}',
    });
    const { code, out } = await importIn(cwd, 'old', 'old/deep/flow.json', '--out', 'new', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(out).files.map(({ file }: { file: string }) => file)).toEqual(['old/deep/flow.json']);
    expect(existsSync(join(cwd, 'new/my-flow.yml'))).toBe(true);
    const none = await importIn(cwd, 'none');
    expect(none.code).toBe(2);
    expect(none.out).toContain('The folder has no file of this format. [nothing_found]\n  none\n');
  });

  it('refuses what only a look at the whole can tell', async () => {
    const { code, out } = await imported(
      {
        'flow.json': workrail(
          [
            step('one', { assessmentRefs: ['gaet'] }),
            step('one'),
            { id: 'empty', title: 'Nothing to do' },
            loop('lost', { type: 'for', count: 1 }, 'nowhere'),
            loop('when', { type: 'while' }, [step('two')]),
            loop('what', { type: 'forEach' }, [step('three')]),
            loop('times', { type: 'for' }, [step('four')]),
          ],
          {
            assessments: [
              { id: 'gate', purpose: 'p', dimensions: [{ id: 'd', purpose: 'p', levels: ['a', 'b'] }] },
            ],
          },
        ),
      },
      'flow.json',
      '--json',
    );
    expect(code).toBe(2);
    const { diagnostics } = JSON.parse(out).files[0];
    expect(
      diagnostics.map(({ code: of, message }: { code: string; message: string }) => `${of}: ${message}`),
    ).toEqual([
      'duplicate: Two steps have the id "one".',
      'unknown_assessment: There is no assessment "gaet".',
      'missing: A step needs "prompt", "promptBlocks" or "templateCall".',
      'unknown_step: There is no step "nowhere" for the loop to run.',
      'missing: A loop of type while needs "condition" or "conditionSource".',
      'missing: A loop of type forEach needs "items".',
      'missing: A loop of type for needs "count".',
    ]);
  });

  it('overwrites nothing unless it is told to, and writes nothing in a dry run', async () => {
    const { cwd, code } = await imported(
      { 'flow.json': workrail([step('one')]) },
      'flow.json',
      '--out',
      'made',
    );
    expect(code).toBe(0);
    writeFileSync(join(cwd, 'made', 'my-flow.yml'), 'mine');
    const again = await importIn(cwd, 'flow.json', '--out', 'made', '--agent');
    expect(again).toMatchObject({
      code: 2,
      err: expect.stringContaining('has my-flow.yml already; nothing was written'),
    });
    expect(readdirSync(join(cwd, 'made'))).toEqual(['my-flow.yml']);
    const dry = await importIn(cwd, 'flow.json', '--out', 'made', '--dry-run');
    expect(dry.code).toBe(0);
    expect(dry.out).toContain('kind: Workflow\nname: my-flow\n');
    expect(dry.err).toContain('Nothing was written.');
    expect(readFileSync(join(cwd, 'made', 'my-flow.yml'), 'utf8')).toBe('mine');
    const forced = await importIn(cwd, 'flow.json', '--out', 'made', '--force');
    expect(forced.code).toBe(0);
    expect(readFileSync(join(cwd, 'made', 'my-flow.yml'), 'utf8')).toContain('name: my-flow');
  });

  it('gives names that can be used, each once', async () => {
    const { cwd, code } = await imported(
      {
        'a.json': workrail([step('1st'), step('1st-confirm')], { id: 'wr.flow' }),
        'b.json': workrail([step('one')], { id: 'wr-flow' }),
      },
      'a.json',
      'b.json',
    );
    expect(code).toBe(0);
    expect(readdirSync(cwd).filter((name) => name.endsWith('.yml'))).toEqual([
      'wr-flow-2.yml',
      'wr-flow.yml',
    ]);
    const { steps, entries, manifest } = await one(
      workrail([
        step('1st', {
          requireConfirmation: true,
          prompt: '{{input}}',
          runCondition: { var: 'my var', equals: 1 },
        }),
        step('step-1st-confirm'),
      ]),
    );
    expect(steps.map(({ name }) => name)).toEqual(['step-1st', 'step-1st-confirm', 'step-1st-confirm-2']);
    expect(outcomes(entries, '1st').id).toBe('changed');
    expect(JSON.stringify(manifest.context_variables)).toContain('"my_var"');
    expect(outcomes(entries, null)).toMatchObject({
      'variable input': 'changed',
      'variable my var': 'changed',
    });
  });

  it('asks before a step in place of behind it where that is wanted', async () => {
    const flow = workrail([
      step('one', { requireConfirmation: true }),
      step('two', { requireConfirmation: { var: 'risky' } }),
    ]);
    const { steps } = await one(flow, '--confirm', 'before');
    expect(steps.map(({ name, type }) => `${type} ${name}`)).toEqual([
      'task one',
      'switch two-gate',
      'task two',
    ]);
    expect(steps[0]).toMatchObject({ confirm: 'May this begin: About one?' });
  });

  it('writes what it read, whatever stands in it', async () => {
    const hostile = [
      'x\rkind: Agent',
      'a\u2028b\u0085c\u0000d\ufeff',
      '# no comment',
      "- 'list\\",
      '${HOME} $${A} {{a}} "',
      '---\n...\n%YAML 1.1',
      '  indented\n\n\ttab \n',
      '*alias &anchor !tag |',
      '\ud83d\ude00',
    ];
    for (const text of hostile) {
      const { manifest, steps, code } = await one(
        workrail([step('one', { title: text, prompt: text, guidance: [text] })], {
          about: text,
          description: text,
          metaGuidance: [text],
          examples: [text],
        }),
      );
      expect(code).toBe(0);
      expect(Object.keys(manifest)[0]).toBe('kind');
      expect(steps).toHaveLength(1);
      if (!text.includes('{')) {
        expect(manifest.description).toBe(text);
        expect(steps[0]?.prompt).toBe(`# ${text}\n\n${text}\n\n## Guidance\n- ${text}`);
      }
    }
  });

  it('says of a condition that no test can hold that it never does', async () => {
    const values = Array.from({ length: 400 }, (_, index) => `word ${index}`);
    const { steps, entries } = await one(workrail([step('one', { runCondition: { var: 'x', in: values } })]));
    expect(steps[0]?.if).toBe('false');
    expect(
      entries.find(({ construct, outcome }) => construct === 'runCondition' && outcome === 'left')?.how,
    ).toContain('never holds');
  });

  it('refuses a file that is nested without end, or is none of text', async () => {
    const { code, out } = await imported(
      {
        'deep.json': `{"id": ${'['.repeat(5000)}${']'.repeat(5000)}}`,
        'tabs.json': `{\n\t"id":\t"x y"\n}`,
        'empty.json': '',
      },
      'deep.json',
      'tabs.json',
      'empty.json',
    );
    expect(code).toBe(2);
    expect(out).toContain('[too_deep]');
    expect(out).toContain('tabs.json:2:8');
    expect(out).toContain('[not_json]');
  });

  it('leaves a stand-in for a routine that is not at hand', async () => {
    const { steps, entries } = await one(
      workrail([
        {
          id: 'call',
          title: 'Call',
          templateCall: { templateId: 'wr.templates.routine.far-away', args: { depth: 3 } },
        },
      ]),
    );
    expect(steps).toHaveLength(1);
    expect(steps[0]?.prompt).toContain('"far-away"');
    expect(outcomes(entries, 'call').templateCall).toBe('left');
  });
});

describe('an imported workflow, in the lead of its agent', () => {
  const runs = async (
    flow: JsonObject,
    work?: (heading: string, nth: number) => Work,
    says?: (what: string) => boolean,
  ) => {
    const { cwd, name } = await one(flow, '--model', 'scripted:none.yml');
    return runImported(cwd, name, work, says);
  };

  it('tells what holds for all of it with its first task, and skips what does not apply', async () => {
    const { result, given, prompts } = await runs(
      workrail(
        [
          step('maybe', { runCondition: { var: 'size', equals: 'large' } }),
          step('first'),
          step('never', { runCondition: { var: 'size' } }),
          step('last'),
        ],
        {
          metaGuidance: ['Be careful.'],
          preconditions: ['A file.'],
          references: [
            { id: 'doc', title: 'Doc', source: 'doc.md', purpose: 'It helps.', authoritative: true },
          ],
        },
      ),
    );
    expect(result).toMatchObject({ status: 'completed', turns: 2 });
    expect(given).toEqual(['About first', 'About last']);
    expect(prompts[0]).toContain('- Be careful.');
    expect(prompts[0]).toContain('doc.md');
    expect(prompts[1]).not.toContain('Be careful.');
  });

  it('goes round while, until, for and forEach as WorkRail does, and ends at the limit without a failure', async () => {
    const { result, given, prompts, run } = await runs(
      workrail([
        step('start'),
        loop('while-open', { type: 'while', condition: { var: 'open', gt: 0 } }, [
          step('close', { prompt: 'Round {{currentIteration}}, {{open}} open.' }),
          step('after-close'),
        ]),
        loop('until-done', { type: 'until', condition: { var: 'done', equals: true }, maxIterations: 2 }, [
          step('try'),
        ]),
        loop('not-at-all', { type: 'until', condition: { var: 'open', equals: 0 } }, [step('never')]),
        loop('twice', { type: 'for', count: 'times' }, [
          step('count', { prompt: 'Number {{currentIteration}}.' }),
        ]),
        loop(
          'parts',
          { type: 'forEach', items: 'parts', itemVar: 'part', indexVar: 'at', maxIterations: 2 },
          [
            step('part', {
              prompt: 'Part {{at}} is {{part.name}}{{part.nothing}}.',
              runCondition: { var: 'part', not_equals: null },
            }),
          ],
        ),
        step('end'),
      ]),
      (heading, nth) => {
        if (heading === 'About start')
          return { updates: { open: 2, times: 2, parts: [{ name: 'a' }, { name: 'b' }, { name: 'c' }] } };
        return heading === 'About close' ? { updates: { open: 2 - nth } } : {};
      },
    );
    expect(result.status).toBe('completed');
    expect(given.map((heading) => heading.replace('About ', ''))).toEqual([
      'start',
      'close',
      'after-close',
      'close',
      'try',
      'try',
      'count',
      'count',
      'part',
      'part',
      'end',
    ]);
    const texts = prompts
      .map((prompt) => /\n(?:Round|Number|Part) .*/.exec(prompt)?.[0].trim())
      .filter(Boolean);
    expect(texts).toEqual([
      'Round 1, 2 open.',
      'Round 2, 1 open.',
      'Number 1.',
      'Number 2.',
      'Part 0 is a[unset: part.nothing].',
      'Part 1 is b[unset: part.nothing].',
    ]);
    // The second round ended when the condition no longer held, in the midst of its body.
    expect(
      run.some((event) => event.type === 'step.skipped' && event.step === 'while-open#2/after-close'),
    ).toBe(true);
  });

  it('goes by the decision of its agent in a loop that wr.loop_control rules, and asks for it where nobody does', async () => {
    const control = { kind: 'artifact_contract', contractRef: 'wr.contracts.loop_control' };
    const decide = { outputContract: { contractRef: 'wr.contracts.loop_control' } };
    const { result, given } = await runs(
      workrail([
        loop('first', { type: 'while', conditionSource: { ...control, loopId: 'first_loop' } }, [
          step('work'),
          step('decide', decide),
          step('tidy'),
        ]),
        loop('second', { type: 'while', conditionSource: control }, [step('more')]),
      ]),
      (heading, nth) => {
        if (heading === 'About decide')
          return { updates: { first_loop_decision: nth === 1 ? 'continue' : 'stop' } };
        return heading === 'About more'
          ? { updates: { second_decision: nth === 3 ? 'stop' : 'continue' } }
          : {};
      },
    );
    expect(result.status).toBe('completed');
    expect(given.map((heading) => heading.replace('About ', ''))).toEqual([
      'work',
      'decide',
      'tidy',
      'work',
      'decide',
      'more',
      'more',
      'more',
    ]);
  });

  it('judges notes without a model, and by one where there are assessments; a person has the word at gates', async () => {
    const { result, run, asked, prompts } = await runs(
      workrail(
        [
          step('noted', {
            validationCriteria: [
              { type: 'contains', value: 'proof', message: 'Name the proof.' },
              {
                type: 'regex',
                pattern: 'line \\d+',
                flags: 'i',
                message: 'Name the line.',
                condition: { var: 'deep', equals: 'yes' },
              },
            ],
            requireConfirmation: { var: 'deep', equals: 'YES' },
          }),
          step('assessed', {
            assessmentRefs: ['gate'],
            assessmentConsequences: [
              {
                when: { anyEqualsLevel: 'low' },
                effect: { kind: 'require_followup', guidance: 'Look again.' },
              },
            ],
            requireConfirmation: true,
          }),
        ],
        {
          assessments: [
            {
              id: 'gate',
              purpose: 'Whether it is ready.',
              dimensions: [{ id: 'sure', purpose: 'How sure it is.', levels: ['low', 'high'] }],
            },
          ],
        },
      ),
      (heading, nth) =>
        heading === 'About noted'
          ? { notes: nth === 1 ? 'Nothing.' : 'The proof is in Line 12.', updates: { deep: 'Yes' } }
          : {},
    );
    expect(result.status).toBe('completed');
    const verdicts = run.flatMap((event) =>
      event.type === 'verify' ? [[event.by, event.assessment, event.instruction]] : [],
    );
    expect(verdicts).toEqual([
      [
        'artifact my-flow-checks.check_noted',
        'retry',
        'Complete the step again with notes that meet this: Name the proof. Name the line.',
      ],
      ['artifact my-flow-checks.check_noted', 'pass', undefined],
      [expect.stringContaining('model'), 'pass', undefined],
    ]);
    expect(prompts.some((prompt) => prompt.includes('sure (low | high): How sure it is.'))).toBe(true);
    expect(asked.map((what) => what.split('\n')[0])).toEqual([
      'About noted is done. May it go on?',
      'About assessed is done. May it go on?',
    ]);
    expect(asked[0]).toContain('The proof is in Line 12.');
  });

  it('has the second model that judges, the plan, the command and the values that its steps name', async () => {
    const flow = workrail([
      step('start', { prompt: 'Set `parts` in the context variables.' }),
      step('judged', { verifier: { model: 'haiku', threshold: 'high' } }),
      step('planned', { stepType: 'planned', modelTier: 'lightweight' }),
      step('scripted', { stepType: 'scripted', verification: { command: 'echo done' } }),
      step('alone', { stepType: 'scripted', notesOptional: true }),
      loop('parts', { type: 'forEach', items: 'parts', itemVar: 'part', indexVar: 'at' }, [
        step('part', {
          prompt:
            'Part {{at + 1}} of {{parts.length}}: {{part.name.toUpperCase()}}, {{lost.name}}{{lost.size * 2}}.',
        }),
      ]),
    ]);
    const { steps, entries, cwd, name } = await one(flow, '--model', 'scripted:none.yml');
    expect(steps.slice(1, 5)).toMatchObject([
      { type: 'task', verify: { model: 'haiku', threshold: 'high' } },
      { type: 'plan', model: 'lightweight' },
      { type: 'script', command: ['sh', '-c', 'echo done'] },
      { type: 'task', prompt: expect.stringContaining('One sentence of notes') },
    ]);
    const left = entries.filter(({ outcome }) => outcome === 'left');
    expect(left.map(({ step: id, construct }) => `${id} ${construct}`)).toEqual(['alone stepType']);
    expect(manifestIn(cwd, `${name}-agent`)).toMatchObject({
      models: { haiku: 'scripted:none.yml', lightweight: 'scripted:none.yml' },
    });
    const only = (...ids: readonly string[]) => ({
      ...flow,
      steps: (flow.steps as readonly JsonObject[]).filter(({ id }) => ids.includes(String(id))),
    });
    const { prompts, given, result } = await runs(only('start', 'scripted', 'parts'), (heading, nth) =>
      heading === 'About start' && nth === 2 ? { updates: { parts: [{ name: 'a' }, { name: 'b' }] } } : {},
    );
    expect(result.status).toBe('completed');
    expect(given).toHaveLength(3);
    expect(prompts.flatMap((prompt) => /\nPart \d.*/.exec(prompt)?.[0].trim() ?? [])).toEqual([
      'Part 1 of 2: A, [unset: lost.name][unset: lost.size * 2].',
      'Part 2 of 2: B, [unset: lost.name][unset: lost.size * 2].',
    ]);
  });

  it('gives the steps of a tier to an agent with a model of that tier', async () => {
    const { cwd, name, steps, entries } = await one(
      workrail([step('one', { modelTier: 'heavy' }), step('two')], { modelTier: 'lightweight' }),
    );
    expect(steps[0]).toMatchObject({ type: 'task', agent: `${name}-heavy` });
    expect(steps[1]).not.toHaveProperty('agent');
    expect(manifestIn(cwd, `${name}-heavy`).model).not.toBe(manifestIn(cwd, `${name}-agent`).model);
    expect(entries.filter(({ outcome }) => outcome === 'left')).toEqual([]);
    const { ok } = await validateManifests([cwd], { env: {}, cwd });
    expect(ok).toBe(true);
  });

  const delegations = [{ workflowId: 'wr.one', goal: 'One.', modelTier: 'mid' }, { workflowId: 'wr.two' }];
  it.each<[string, JsonObject, readonly string[]]>([
    [
      'prompt blocks and features',
      workrail([{ id: 'one', title: 'One', promptBlocks: { goal: 'Find.', verify: ['Found.'] } }], {
        features: ['wr.features.capabilities'],
      }),
      ['One'],
    ],
    [
      'functions and fragments',
      workrail(
        [step('one', { functionReferences: ['sum()'], promptFragments: [{ id: 'more', text: 'More.' }] })],
        { functionDefinitions: [{ name: 'sum', definition: 'Adds.' }] },
      ),
      ['About one'],
    ],
    [
      'an audit and a verification',
      workrail([step('one', { audit: {}, verification: { prompt: 'Try it.' } })]),
      ['About one', 'Verify: About one', 'Audit: About one'],
    ],
    [
      'parallel work and its synthesis',
      workrail([
        { id: 'all', type: 'parallel', title: 'All', parallelDelegations: delegations, synthesis: {} },
      ]),
      ['All', 'Synthesis: All'],
    ],
    [
      'a list that nobody has set',
      workrail([loop('each', { type: 'forEach', items: 'lost' }, [step('one')])]),
      [],
    ],
  ])('runs to its end with %s', async (_, flow, headings) => {
    const { result, given } = await runs(flow);
    expect(result.status).toBe('completed');
    expect(given).toEqual(headings);
  });

  it('ends where a person says no', async () => {
    const { result, given } = await runs(
      workrail([step('one', { requireConfirmation: true }), step('two')]),
      undefined,
      () => false,
    );
    expect(result.status).toBe('failed');
    expect(given).toEqual(['About one']);
  });

  it('has the steps of a routine in place of its call, and tells of parallel work what applies', async () => {
    const { cwd } = await imported(
      { 'every.json': everyConstruct, 'routines/deep-look.json': routine },
      'every.json',
      '--agent',
      '--model',
      'scripted:none.yml',
    );
    const { result, given, prompts } = await runImported(cwd, 'wr-every-construct', (heading, nth) => {
      if (heading.startsWith('Plan'))
        return {
          notes: 'I plan to do it.',
          updates: { topic: 'tea', families: ['The second'], parts: [{ name: 'a' }], mode: 'quick' },
        };
      return heading === 'About try-it' && nth === 2 ? { updates: { good: true } } : {};
    });
    expect(result.status).toBe('completed');
    expect(given.slice(0, 4)).toEqual([
      'Plan [unset: topic]',
      'Audit: Plan tea',
      'Look 3 deep',
      'About note-it',
    ]);
    const prompt = (heading: string) =>
      prompts.find((each) => each.includes(`The step in hand:\n# ${heading}`)) ?? '';
    expect(prompt('Look 3 deep')).toContain('Look 3 levels deep, tea and {unknown} and { "json": 1 }.');
    expect(prompt('Look 3 deep')).toContain('- Touch nothing.');
    expect(prompt('Ask around')).toContain('- subject: tea');
    expect(prompt('Ask around')).toContain('## wr.routine-two');
    expect(prompt('Plan')).toContain('for ${HOME} and [unset: topic]');
    expect(prompt('Plan')).toContain('Always this.');
    expect(prompt('Plan')).not.toContain('Be quick');
    expect(prompt('About count-up')).toContain('`sum()`: Another sum.');
    expect(prompts.join('\n')).not.toMatch(/ct_|continueToken/);
  });
});

if (existsSync(COMPAT)) {
  describe("files of WorkRail's own", () => {
    const files = readdirSync(COMPAT).filter((name) => name.endsWith('.json'));
    const refused = ['invalid-workflow.json', 'workflow.schema.json'];
    /** What the criteria of these files ask for. */
    const NOTES =
      'jwt Authorization 401 POST /login email password valid credentials protected route invalid tokens test requirements edge cases pattern optimization unit test coverage';

    it.each(files.filter((name) => !refused.includes(name)))(
      '%s is imported, can be drawn, and runs to its end',
      async (name) => {
        const cwd = temporaryProject({ 'package.json': '{}' });
        const { code, out } = await importIn(
          cwd,
          join(COMPAT, name),
          '--agent',
          '--model',
          'scripted:none.yml',
          '--json',
        );
        expect(code).toBe(0);
        const [{ workflow, entries }] = JSON.parse(out).files;
        expect(entries.length).toBeGreaterThan(10);
        const { ok, projects } = await validateManifests([cwd], { env: {}, cwd });
        expect(ok).toBe(true);
        const manifests = projects.flatMap((project) => project.manifests.map((each) => each.manifest));
        const made = manifests.find((each): each is WorkflowManifest => each.kind === 'Workflow');
        expect(made === undefined ? 0 : graphOf(made).nodes.length).toBeGreaterThan(2);
        const lists = [
          ...readFileSync(join(cwd, `${workflow}.yml`), 'utf8').matchAll(/in: \$\{vars\.(\w+)\}/g),
        ];
        const updates = Object.fromEntries(
          lists.map(([, list]) => [list ?? '', [{ name: 'a' }, { name: 'b' }]]),
        );
        let isFirst = true;
        const { result, given } = await runImported(cwd, workflow, () => {
          const first = isFirst;
          isFirst = false;
          return first ? { notes: NOTES, updates } : { notes: NOTES };
        });
        expect(result).toMatchObject({ status: 'completed' });
        expect(given.length).toBeGreaterThan(0);
      },
    );

    it('those that are none are refused, each mistake in its place', async () => {
      const cwd = temporaryProject({ 'package.json': '{}' });
      const { code, out } = await importIn(cwd, ...refused.map((name) => join(COMPAT, name)));
      expect(code).toBe(2);
      for (const place of ['2:9', '3:11', '8:5', '14:12', '19:3'])
        expect(out).toContain(`invalid-workflow.json:${place}`);
      expect(readdirSync(cwd)).toEqual(['package.json']);
    });
  });
}
