import fc from 'fast-check';
import { expect, test } from 'vitest';
import { evaluate } from '../../src/expressions/cel/evaluate.ts';
import { parseExpression } from '../../src/expressions/cel/parse-expression.ts';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import { createScope, type Locals, resolveDeep } from '../../src/workflows/scope.ts';
import { createTemplateReader } from '../../src/workflows/templates.ts';
import { moreRuns } from '../more-runs.ts';
import { begin, completed, failure, fakeJournal, type StepInProgress, workflowOf } from './fake-run.ts';

const AGENT = { session_id: 's1', metadata: { status: 'CODING' }, variables: { phase: 'build', tries: 2 } };
const step = (name: string, more: object = {}) => ({ name, type: 'emit', event: 'e', ...more });

function given(begun: StepInProgress = {}, document: object = {}, agent: JsonObject = AGENT) {
  const journal = fakeJournal();
  begin(journal, begun);
  let reads = 0;
  const workflow = workflowOf({
    context_variables: { runtime: [{ name: 'count', type: 'number', default: 0 }, { name: 'unset' }] },
    steps: [
      step('first'),
      step('named', { output_key: 'report' }),
      { name: 'each', type: 'foreach', in: [1, 2], body: [step('inner'), step('after')] },
    ],
    ...document,
  });
  const session = {
    agent: async () => {
      reads++;
      return agent;
    },
  };
  const scope = createScope({ state: journal.state, workflow, session });
  return {
    journal,
    scope,
    reads: () => reads,
    resolve: async (value: Json, locals: Locals = {}, at?: string) =>
      resolveDeep(value, scope, { what: 'step "x"', locals, ...(at === undefined ? {} : { at }) }),
    async test(source: string, locals: Locals = {}, at?: string) {
      const parsed = parseExpression(source);
      if (!parsed.ok) throw new Error(parsed.error.message);
      const roots = [...new Set(parsed.value.names.map(({ root }) => root))];
      const result = evaluate(parsed.value, await scope.forTest(roots, locals, at));
      return result.ok ? result.value : `problem: ${result.error.message}`;
    },
  };
}

test('a text that is one reference keeps the type of what it refers to, however deep it stands', async () => {
  const { resolve } = given({ input: { n: 3, list: [1, null], o: { a: true } } });
  expect(
    await resolve({ n: '${input.n}', in: [{ list: '${input.list}' }, 'n=${input.n}', 7], o: '${input.o.a}' }),
  ).toEqual({ n: 3, in: [{ list: [1, null] }, 'n=3', 7], o: true });
  expect(await resolve(['${input.list[1]}', 'x'])).toEqual([null, 'x']);
  expect(await resolve({ text: 'costs $${x}' })).toEqual({ text: 'costs ${x}' });
});

test('a path that does not exist is an error that names the nearest; a default stands in for it', async () => {
  const { resolve, journal } = given({ input: { name: 'ada' } });
  const wrong = await failure(resolve('${input.nmae}'));
  expect(wrong.code).toBe('bad_reference');
  expect(wrong.message).toContain('step "x"');
  expect(wrong.hint).toContain('"input.name"');
  expect(await resolve('${input.nmae ?? steps.first.output ?? 5}')).toBe(5);
  expect((await failure(resolve('${steps.frist.output}'))).hint).toContain('"steps.first"');
  expect((await failure(resolve('${steps.first.output}'))).hint).toContain('steps.first.status');
  expect((await failure(resolve('${vars.cuont}'))).hint).toContain('"vars.count"');
  completed(journal, 'first', { ok: 1 });
  expect(await resolve('${steps.first.output.ok}')).toBe(1);
});

test('the agent is read when something names it, and once a run', async () => {
  const { resolve, test: check, reads } = given({ vars: { count: 1 } });
  expect(await resolve({ a: '${run.id}', b: '${vars.count}', c: '${vars.unset}' })).toEqual({
    a: 'run1',
    b: 1,
    c: null,
  });
  expect(await check('count == 1 && run.workflow == "flow"')).toBe(true);
  expect(reads()).toBe(0);
  expect(await resolve('${agent.metadata.status} ${vars.phase}')).toBe('CODING build');
  expect(await check('phase == "build" && metadata.status == "CODING" && vars.tries == 2')).toBe(true);
  expect(reads()).toBe(1);
});

test('an agent that could not be read is read again', async () => {
  const journal = fakeJournal();
  begin(journal);
  let reads = 0;
  const agent = async () => {
    if (++reads === 1) throw new Error('locked');
    return { session_id: 's1' };
  };
  const scope = createScope({
    state: journal.state,
    workflow: workflowOf({ steps: [step('a')] }),
    session: { agent },
  });
  await expect(scope.agent()).rejects.toThrow('locked');
  expect(await scope.agent()).toEqual({ session_id: 's1' });
  expect(Object.isFrozen(await scope.agent())).toBe(true);
});

test('what the run has set itself stands above the session, and so does what a step stored by output_key', async () => {
  const { resolve, test: check, journal } = given({ vars: { count: 1 } });
  journal.append({ type: 'variable.changed', name: 'phase', from: 'build', to: 'test', by: 'step a' });
  expect(await resolve('${vars.phase}')).toBe('test');
  expect(await check('phase')).toBe('test');
  completed(journal, 'named', { pages: 2 }, { output_key: 'report' });
  expect(await resolve('${vars.report.pages}')).toBe(2);
  expect(await check('report.pages == 2')).toBe(true);
  expect(await resolve('${vars}')).toEqual({
    phase: 'test',
    tries: 2,
    count: 1,
    unset: null,
    report: { pages: 2 },
  });
});

test('a variable that a step stored into by output_key can be set again, and the newest counts', async () => {
  const { resolve, journal } = given({ vars: { count: 1 } });
  completed(journal, 'named', 5, { output_key: 'count' });
  expect(await resolve('${vars.count}')).toBe(5);
  expect(journal.state.variables.get('count')).toBe(5);
  journal.append({ type: 'variable.changed', name: 'count', from: 5, to: 6, by: 'step b' });
  expect(await resolve('${vars.count}')).toBe(6);
});

test('in a round the step of the same round counts, else that of the rounds around it, else the latest', async () => {
  const { resolve, journal } = given();
  completed(journal, 'each[0]/inner', 'zero');
  completed(journal, 'each[1]/inner', 'one');
  expect(await resolve('${steps.inner.output}', {}, 'each[0]/after')).toBe('zero');
  expect(await resolve('${steps.inner.output}', {}, 'each[1]/after')).toBe('one');
  expect(await resolve('${steps.inner.output}', {}, 'each[2]/after')).toBe('one');
  expect(await resolve('${steps.inner.output}', {}, 'each[0]/loop[4]/after')).toBe('zero');
  expect(await resolve('${steps.inner.output}')).toBe('one');
  completed(journal, 'each[0]/inner~2', 'zero again');
  expect(await resolve('${steps.inner.output}', {}, 'each[0]/after')).toBe('zero again');
  completed(journal, 'first', 'f');
  expect(await resolve('${steps.first.output}', {}, 'each[0]/after')).toBe('f');
});

test('a place in a step (ADDRESS:if) sees what the step sees', async () => {
  const { test: check, journal } = given();
  completed(journal, 'each[0]/inner', 0);
  completed(journal, 'each[1]/inner', 1);
  expect(await check('steps.inner.output == 0', {}, 'each[0]/after:if')).toBe(true);
});

test('steps show their status and error; one that has not begun is pending', async () => {
  const { test: check, resolve, journal } = given();
  expect(await check('steps.first.status')).toBe('pending');
  journal.append({ type: 'step.started', step: 'first', attempt: 1, repeatable: true });
  expect(await check('steps.first.status')).toBe('running');
  const error = { code: 'command_failed', message: 'no', retryable: false };
  journal.append({ type: 'step.failed', step: 'first', error, ms: 1, attempts: 1, policy: 'continue' });
  expect(await check('steps.first.status == "failed" && steps.first.error.code == "command_failed"')).toBe(
    true,
  );
  expect(await resolve('${steps.first.error.message}')).toBe('no');
});

test('items are seen by name, also where they are null, and come before everything else of that name', async () => {
  const { resolve, test: check } = given({ input: { a: 1 } });
  expect(await resolve(['${item}', '${file.path}'], { item: null, file: { path: 'x' } })).toEqual([
    null,
    'x',
  ]);
  expect(await check('item == null && file == "x"', { item: null, file: 'x' })).toBe(true);
  expect(await check('phase', { phase: 'mine' })).toBe('mine');
});

test('the trigger, the input and the run are there', async () => {
  const seen = { type: 'metadata_match', from: { status: 'IDLE' } };
  const { resolve } = given({ origin: { trigger: { id: 'flow#0', seen }, session: { id: 's1', seq: 4 } } });
  expect(await resolve(['${trigger.from.status}', '${run.session}', '${run.state}'])).toEqual([
    'IDLE',
    's1',
    null,
  ]);
  expect((await failure(given().resolve('${trigger.type}'))).hint).toContain('"trigger" is empty');
});

test('a run without a session shows the agent it runs for', async () => {
  const journal = fakeJournal();
  begin(journal);
  const workflow = workflowOf({ steps: [step('a')] });
  const scope = createScope({ state: journal.state, workflow, agentOf: () => ({ agent_name: 'tester' }) });
  const place = { what: 'step "a"', locals: {} };
  expect(await resolveDeep('${agent.agent_name}', scope, place)).toBe('tester');
  expect((await failure(Promise.resolve(resolveDeep('${vars.nope}', scope, place)))).code).toBe(
    'bad_reference',
  );
});

test('a value that becomes too large, or is nested too deep, is refused', async () => {
  const { resolve } = given({ input: { big: 'x'.repeat(3_000_000) } });
  expect((await failure(resolve(['${input.big}', '${input.big}']))).code).toBe('input_too_large');
  let deep: Json = '${input.a ?? 1}';
  for (let level = 0; level < 101; level++) deep = [deep];
  expect((await failure(resolve(deep))).message).toContain('nested deeper');
});

test('what holds no reference comes out as it is', async () => {
  const { resolve, reads } = given();
  await fc.assert(
    fc.asyncProperty(
      fc.jsonValue({ maxDepth: 4 }).filter((value) => !JSON.stringify(value).includes('${')),
      async (value) => {
        expect(await resolve(value as Json)).toEqual(value);
      },
    ),
    { numRuns: moreRuns(100) },
  );
  expect(reads()).toBe(0);
});

test('what a manifest says is read once, for each list of items around it; what can change is read each time', () => {
  const read = createTemplateReader();
  const frozen = Object.freeze({ a: '${input.a}', b: 'plain' });
  expect(read(frozen, [], 'step "x"')).toBe(read(frozen, [], 'step "y"'));
  expect(read(frozen, ['item'], 'step "x"')).not.toBe(read(frozen, [], 'step "x"'));
  const open: Record<string, string> = { a: '${input.a}' };
  expect(read(open, [], 'step "x"').fill({ input: { a: 1 } }, 'step "x"')).toEqual({ a: 1 });
  open.a = '${input.b}';
  expect(read(open, [], 'step "x"').fill({ input: { b: 2 } }, 'step "x"')).toEqual({ a: 2 });
  expect(() => read(frozen, [], 'step "x"').fill({ input: {} }, 'step "y"')).toThrow('step "y"');
});

test('resolves references to the input and to steps, also below a key named __proto__', async () => {
  const { scope } = given({ input: { n: 3 } });
  const place = { what: 'step "x"', locals: {} };
  expect(await resolveDeep({ n: '${input.n}', s: '${steps.first.status}' }, scope, place)).toEqual({
    n: 3,
    s: 'pending',
  });
  const odd = JSON.parse('{"__proto__":"${input.n}","b":1}') as Json;
  expect(JSON.stringify(await resolveDeep(odd, scope, place))).toBe('{"__proto__":3,"b":1}');
});

test('a derived variable of the workflow follows from what it reads, the agent’s variables and metadata too', async () => {
  const derived = [
    { name: 'done', expression: 'late && count > 2' },
    { name: 'late', expression: 'vars.tries >= 2 && metadata.status == "CODING"' },
    { name: 'broken', expression: 'nobody + 1', default: 'none' },
  ];
  const runtime = [{ name: 'count', type: 'number', default: 0 }];
  const {
    resolve,
    test: decide,
    journal,
  } = given({ vars: { count: 0 } }, { context_variables: { runtime, derived } });
  expect(await resolve('${vars.done}')).toBe(false);
  expect(await resolve(['${vars.late}', '${vars.broken}', '${vars.count}'])).toEqual([true, 'none', 0]);
  journal.append({ type: 'variable.changed', name: 'count', from: 0, to: 3, by: 'step x' });
  expect(await resolve('${vars.done}')).toBe(true);
  expect(await decide('done && vars.done && vars.count == 3')).toBe(true);
  expect(await resolve('${vars}')).toMatchObject({
    done: true,
    late: true,
    broken: 'none',
    count: 3,
    tries: 2,
  });
});
