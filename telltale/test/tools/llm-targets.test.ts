import { expect, test } from 'vitest';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { Model, ModelRequest } from '../../src/models/model.ts';
import { modelFailed } from '../../src/models/model-errors.ts';
import { agentTargets } from './agent-targets.ts';

interface Scripted {
  readonly model: (ref: string) => Promise<Model>;
  readonly opened: string[];
  readonly requests: ModelRequest[];
}

/** A model that says this, in pieces. */
function scripted(
  answer: string,
  end: { readonly finish?: 'stop' | 'length'; readonly usage?: boolean } = {},
): Scripted {
  const opened: string[] = [];
  const requests: ModelRequest[] = [];
  return {
    opened,
    requests,
    model: async (ref) => {
      opened.push(ref);
      return {
        id: ref,
        async stream(request, sink) {
          requests.push(request);
          for (let at = 0; at < answer.length; at += 10_000) {
            if (request.signal.aborted) throw new RuntimeError('model_cancelled', 'stopped');
            sink.text(answer.slice(at, at + 10_000));
          }
          const usage = end.usage === false ? {} : { usage: { input: 7, output: 3 } };
          return { finish: end.finish ?? 'stop', ...usage };
        },
      };
    },
  };
}

const given = (script: Scripted, agent = '') => agentTargets({ agent, options: { openModel: script.model } });

test('a prompt of the manifest is filled with the parameters of the action', async () => {
  const script = scripted(' the answer\n');
  const { call, table } = await given(
    script,
    'prompts: { ask: { template: "Of {what}, for ${agent.agent_name}: {data} and {what}" } }',
  );
  expect(await call('ask', { what: '{data}', data: { a: 1 } })).toBe('the answer');
  expect(script.requests[0]?.messages).toEqual([
    { role: 'user', text: 'Of {data}, for tester: {"a":1} and {data}' },
  ]);
  expect(script.opened).toEqual(['scripted:./model.yml']);
  expect(table.find('llm', 'ask')).toMatchObject({
    idempotent: true,
    parameters: { required: ['what', 'data'], additionalProperties: false },
  });
});

test('a parameter that is missing or misspelt is wrong', async () => {
  const { failure } = await given(scripted(''), 'prompts: { ask: { template: "{what}" } }');
  expect((await failure('ask')).message).toContain('"what" is missing');
  expect((await failure('ask', { what: 1, waht: 2 })).hint).toBe('Did you mean "what"?');
});

test('the model is an alias, a model by itself, or the agent own', async () => {
  const script = scripted('x');
  const { call } = await given(
    script,
    'models: { fast: test/quick, slow: test/slow }\nprompts: { a: { template: a, model: slow }, b: { template: b, model: test/direct }, c: { template: c } }',
  );
  for (const name of ['a', 'b', 'c', 'a']) await call(name);
  await call('summarize', { text: 'x' });
  expect(script.opened).toEqual(['test/slow', 'test/direct', 'scripted:./model.yml', 'test/quick']);
});

test('what a call used is charged, also where the answer is of no use', async () => {
  const charged: unknown[] = [];
  const charge = (usage: unknown, { id }: Model) => charged.push([usage, id]);
  const told = await given(scripted('no json'));
  await told.call('summarize', { text: 'x' }, { charge });
  await told.failure('extract', { text: 'x', what: 'y' }, { charge });
  const untold = await given(
    scripted('12345678', { usage: false }),
    'prompts: { ask: { template: "1234" } }',
  );
  await untold.call('ask', {}, { charge });
  expect(charged).toEqual([
    [{ input: 7, output: 3 }, 'scripted:./model.yml'],
    [{ input: 7, output: 3 }, 'scripted:./model.yml'],
    [{ input: 1, output: 2, estimated: true }, 'scripted:./model.yml'],
  ]);
});

test.each(['{"a": 1}', 'Here it is:\n```json\n{"a": 1}\n```\nDone.', 'Sure: {"a": 1}.'])(
  'extract reads the JSON of %j',
  async (answer) => {
    const { call } = await given(scripted(answer));
    expect(await call('extract', { text: 't', what: 'a' })).toEqual({ a: 1 });
  },
);

test('what is extracted has to fit the schema', async () => {
  const { call, failure } = await given(scripted('{"a": "one"}'));
  const schema = (type: string) => ({ type: 'object', properties: { a: { type } } });
  expect(await call('extract', { text: 't', schema: schema('string') })).toEqual({ a: 'one' });
  const error = await failure('extract', { text: 't', schema: schema('number') });
  expect(error).toMatchObject({ code: 'bad_output', retryable: true });
  expect(error.message).toContain('"/a" is "one"; it must be a number');
  expect((await failure('extract', { text: 't', schema: { type: 'nonsense' } })).code).toBe('bad_parameters');
  expect((await failure('extract', { text: 't' })).code).toBe('bad_parameters');
});

test('classify gives one of the labels, or fails', async () => {
  const labels = ['Bug', 'Feature'];
  expect(await (await given(scripted('**bug**.'))).call('classify', { text: 't', labels })).toBe('Bug');
  const error = await (await given(scripted('neither'))).failure('classify', { text: 't', labels });
  expect(error).toMatchObject({ code: 'bad_output', retryable: true });
});

test('a prompt of the manifest takes the place of a built-in one', async () => {
  const script = scripted('mine');
  const { call, table } = await given(script, 'prompts: { summarize: { template: "My own {thing}" } }');
  expect(await call('summarize', { thing: 'x' })).toBe('mine');
  expect(table.all.filter(({ name }) => name === 'summarize')).toHaveLength(1);
});

test('an answer without end is cut off, and one that came to its limit is no answer', async () => {
  const script = scripted('x'.repeat(10_000_000));
  const endless = await given(script);
  expect((await endless.failure('summarize', { text: 't' })).code).toBe('output_too_large');
  const cut = await given(scripted('half', { finish: 'length' }));
  expect((await cut.failure('summarize', { text: 't' })).message).toContain('token limit');
});

test('a model that fails is passed on as it is, and opened again at the next call', async () => {
  let tries = 0;
  const broken = new RuntimeError('model_unavailable', 'down', { retryable: true });
  const { call, failure } = await agentTargets({
    agent: '',
    options: {
      openModel: (ref) => (++tries === 1 ? Promise.reject(broken) : scripted('up').model(ref)),
    },
  });
  const charged: unknown[] = [];
  expect(await failure('summarize', { text: 't' }, { charge: (usage) => charged.push(usage) })).toBe(broken);
  expect(charged).toEqual([]);
  expect(await call('summarize', { text: 't' })).toBe('up');
});

test('a model that breaks off is not said to go on from there: nothing of its answer is kept', async () => {
  const model: Model = {
    id: 'mine',
    async stream(_, sink) {
      sink.text('Half of');
      throw modelFailed('model_broke_off', 'The stream ended.');
    },
  };
  const { failure } = await agentTargets({ agent: '', options: { openModel: async () => model } });
  const { code, hint } = await failure('summarize', { text: 't' });
  expect([code, hint]).toEqual(['model_broke_off', expect.not.stringMatching(/kept|goes on/)]);
});

test('a model that does not say how it ended is told what to say', async () => {
  const stream = async () => undefined;
  const model = { id: 'mine', stream } as unknown as Model;
  const { failure } = await agentTargets({ agent: '', options: { openModel: async () => model } });
  const { code, hint } = await failure('summarize', { text: 't' });
  expect([code, hint]).toEqual(['model_end_missing', expect.stringContaining('{ finish: "stop" }')]);
});

test('a stopped call ends as stopped', async () => {
  const { failure } = await given(scripted('x'));
  expect((await failure('summarize', { text: 't' }, { signal: AbortSignal.abort() })).code).toBe('cancelled');
});
