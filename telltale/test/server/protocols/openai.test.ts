import OpenAI from 'openai';
import { afterEach, describe, expect, it } from 'vitest';
import {
  broken,
  call,
  echo,
  endless,
  final,
  gate,
  interim,
  openStage,
  type Stage,
} from './protocol-stage.ts';

let stage: Stage;
afterEach(() => stage.close());

const clientOf = ({ url, token }: Stage) =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey: token, maxRetries: 2 });
const user = (content: string) => ({ role: 'user', content }) as const;

interface Streamed {
  readonly text: string;
  readonly reasoning: string;
  readonly chunks: number;
  readonly finish: string | null | undefined;
}

async function streamOf(client: OpenAI, model: string): Promise<Streamed> {
  const stream = await client.chat.completions.create({ model, messages: [user('Go.')], stream: true });
  let text = '';
  let reasoning = '';
  let chunks = 0;
  let finish: string | null | undefined;
  for await (const { choices } of stream) {
    const [choice] = choices;
    const delta = choice?.delta as { content?: string; reasoning_content?: string } | undefined;
    if (delta?.content !== undefined && delta.content !== '') chunks++;
    text += delta?.content ?? '';
    reasoning += delta?.reasoning_content ?? '';
    finish = choice?.finish_reason ?? finish;
  }
  return { text, reasoning, chunks, finish };
}

describe('chat completions', () => {
  it('take a token as their key, and nothing else', async () => {
    stage = await openStage({ helper: { turns: [final('Hello.')] } });
    const ask = (token: string) =>
      clientOf({ ...stage, token }).chat.completions.create({ model: 'helper', messages: [user('Hi.')] });
    expect((await ask(stage.token)).choices[0]?.message.content).toBe('Hello.');
    for (const wrong of ['sk-whatever', 'none', `tt_${'x'.repeat(43)}`])
      await expect(ask(wrong)).rejects.toMatchObject({ status: 401 });
  });

  it('answer with the final response and what it took, by a session of its own', async () => {
    const usage = { input: 20, output: 4, cached: 8 };
    stage = await openStage({
      helper: { turns: [{ text: 'Hello **you**.', usage }], protocol: { bare_text: 'final' } },
    });
    const { data, response } = await clientOf(stage)
      .chat.completions.create({ model: 'helper', messages: [user('Hi.')], temperature: 0.2, max_tokens: 9 })
      .withResponse();
    expect(data).toMatchObject({
      object: 'chat.completion',
      model: 'helper',
      choices: [{ message: { role: 'assistant', content: 'Hello **you**.' }, finish_reason: 'stop' }],
      usage: {
        prompt_tokens: 20,
        completion_tokens: 4,
        total_tokens: 24,
        prompt_tokens_details: { cached_tokens: 8 },
      },
    });
    const session = response.headers.get('x-telltale-session') ?? '';
    expect(data.id).toBe(`chatcmpl-${session}`);
    expect(await stage.status(session)).toBe('completed');
    expect((await stage.events(session))[0]).toMatchObject({ type: 'session.started', input: 'Hi.' });
  });

  it('stream the final response as it comes, and nothing else as content', async () => {
    const answer = 'Ä final answer, of several pieces. 😀 '.repeat(6).trim();
    stage = await openStage({
      helper: {
        turns: [
          `<thought>First I look.</thought>${interim('One moment.')}${call('a1', 'echo')}`,
          { text: final(answer), chunk: 5 },
        ],
        tools: [echo],
      },
    });
    const streamed = await streamOf(clientOf(stage), 'helper');
    expect(streamed).toMatchObject({ text: answer, reasoning: 'First I look.One moment.', finish: 'stop' });
    expect(streamed.chunks).toBeGreaterThan(10);
  });

  it('give the usage of the whole at the end of a stream that asks for it', async () => {
    stage = await openStage({
      helper: { turns: [{ text: 'Hi.', usage: { input: 3, output: 2 } }], protocol: { bare_text: 'final' } },
    });
    const stream = await clientOf(stage).chat.completions.create({
      model: 'helper',
      messages: [user('Hi.')],
      stream: true,
      stream_options: { include_usage: true },
    });
    const usages = [];
    for await (const { usage, choices } of stream) usages.push([choices.length, usage?.total_tokens ?? null]);
    expect(usages.at(-1)).toEqual([0, 5]);
    expect(usages.slice(0, -1).every(([choices, total]) => choices === 1 && total === null)).toBe(true);
  });

  it('hold back an answer that an action may still undo, so that what is sent is what counts', async () => {
    stage = await openStage({
      helper: {
        turns: [`${call('a1', 'broken')}${final('All is well.')}`, final('The disk is gone.')],
        tools: [broken],
      },
    });
    expect(await streamOf(clientOf(stage), 'helper')).toMatchObject({
      text: 'The disk is gone.',
      finish: 'stop',
    });
    expect(
      (await stage.events(await stage.newest())).filter(({ type }) => type === 'response'),
    ).toMatchObject([
      { text: 'All is well.', final: false },
      { text: 'The disk is gone.', final: true },
    ]);
  });

  it('wait in the text for the action that it names', async () => {
    const slow = gate('slow');
    stage = await openStage({
      helper: {
        turns: [`${call('a1', 'slow')}${final('It says $a1, and that is all.')}`],
        tools: [slow.tool],
      },
    });
    const streaming = streamOf(clientOf(stage), 'helper');
    await expect.poll(() => stage.newest()).not.toBe('');
    slow.open('forty-two');
    expect((await streaming).text).toBe('It says forty-two, and that is all.');
  });

  it('send an answer whole where its schema is checked first, and text without tags once it counts', async () => {
    stage = await openStage({
      checked: { turns: [final('no JSON'), final('{"n": 1}')], output: { schema: { type: 'object' } } },
      bare: { turns: ['  Just text.  '], protocol: { bare_text: 'final' } },
    });
    const client = clientOf(stage);
    expect((await streamOf(client, 'checked')).text).toBe('{"n": 1}');
    expect((await streamOf(client, 'bare')).text).toBe('Just text.');
  });

  it('end with an error where text that was sent does not stand', async () => {
    stage = await openStage({
      helper: {
        turns: [{ text: final('It is red, I think.'), failAfter: 40, chunk: 4 }, final('It is blue.')],
      },
    });
    await expect(streamOf(clientOf(stage), 'helper')).rejects.toMatchObject({ code: 'answer_withdrawn' });
  });

  it('go on with text that was sent where the answer begins alike after all', async () => {
    stage = await openStage({
      helper: {
        turns: [{ text: final('It is red, I think.'), failAfter: 32, chunk: 4 }, final('It is red.')],
      },
    });
    expect((await streamOf(clientOf(stage), 'helper')).text).toBe('It is red.');
  });

  it('give the agent what was said before as text, the last message at its end', async () => {
    stage = await openStage({ helper: { turns: [final('Oui.')] } });
    await clientOf(stage).chat.completions.create({
      model: 'helper',
      messages: [
        { role: 'system', content: 'Answer in French.' },
        user('Hi.'),
        { role: 'assistant', content: 'Salut.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Are you ' },
            { type: 'text', text: 'sure?' },
          ],
        },
      ],
    });
    const [started] = await stage.events(await stage.newest());
    expect(started).toMatchObject({
      input:
        'What was said in this conversation so far, oldest first:\n\n[system] Answer in French.\n\n[user] Hi.\n\n[assistant] Salut.\n\nAnswer this message:\n\nAre you sure?',
    });
  });

  it('list the agents as models', async () => {
    stage = await openStage({ one: { turns: [] }, two: { turns: [] } });
    const client = clientOf(stage);
    expect((await client.models.list()).data.map(({ id }) => id)).toEqual(['one', 'two']);
    expect(await client.models.retrieve('two')).toMatchObject({ id: 'two', object: 'model' });
    await expect(client.models.retrieve('tow')).rejects.toMatchObject({
      status: 404,
      code: 'model_not_found',
    });
  });
});

describe('a completion whose client goes away', () => {
  it('is cancelled, with all that runs', async () => {
    stage = await openStage({
      helper: { turns: [`${call('a1', 'endless')}${final('$a1')}`], tools: [endless] },
    });
    const leave = new AbortController();
    const request = { model: 'helper', messages: [user('Go.')], stream: true as const };
    const stream = await clientOf(stage).chat.completions.create(request, { signal: leave.signal });
    await expect.poll(() => stage.newest()).not.toBe('');
    const session = await stage.newest();
    await expect
      .poll(async () => (await stage.events(session)).map(({ type }) => type))
      .toContain('action.started');
    leave.abort();
    for await (const _ of stream);
    await expect.poll(() => stage.status(session)).toBe('cancelled');
    expect((await stage.events(session)).map(({ type }) => type)).toContain('action.cancelled');
  });

  it('is cancelled also where nothing is streamed', async () => {
    stage = await openStage({
      helper: { turns: [`${call('a1', 'endless')}${final('$a1')}`], tools: [endless] },
    });
    const leave = new AbortController();
    const asked = clientOf(stage).chat.completions.create(
      { model: 'helper', messages: [user('Go.')] },
      { signal: leave.signal },
    );
    await expect.poll(() => stage.newest()).not.toBe('');
    leave.abort();
    await expect(asked).rejects.toThrow('aborted');
    const session = await stage.newest();
    await expect.poll(() => stage.status(session)).toBe('cancelled');
  });
});

describe('errors of chat completions', () => {
  it('have the shape, status and type that clients know, and are not retried by them', async () => {
    stage = await openStage({ helper: { turns: [] }, other: { turns: [] } });
    const client = clientOf(stage);
    const create = (body: object) =>
      client.chat.completions.create({ model: 'helper', messages: [user('Hi.')], ...body } as never);
    await expect(create({ model: 'helpr' })).rejects.toMatchObject({
      status: 404,
      code: 'model_not_found',
      param: 'model',
      type: 'invalid_request_error',
      message: '404 No agent is named "helpr". Did you mean "helper"?',
    });
    // A script without turns: the agent fails, once.
    await expect(create({})).rejects.toMatchObject({
      status: 500,
      code: 'script_ended',
      type: 'server_error',
    });
    expect(await stage.store.list({ kind: 'session' })).toHaveLength(1);
    await expect(
      create({ stream: true }).then(async (stream) => {
        for await (const _ of stream as unknown as AsyncIterable<unknown>);
      }),
    ).rejects.toMatchObject({ code: 'script_ended' });
  });

  it('name the parameter that would change the meaning of an answer', async () => {
    stage = await openStage({ helper: { turns: [] } });
    const client = clientOf(stage);
    const refused = async (body: object) => {
      const asked = client.chat.completions.create({
        model: 'helper',
        messages: [user('Hi.')],
        ...body,
      } as never);
      return asked.then(
        () => undefined,
        ({ status, param }: { status: number; param: string }) => [status, param],
      );
    };
    const tool = { type: 'function', function: { name: 'x' } };
    expect(await refused({ n: 2 })).toEqual([400, 'n']);
    expect(await refused({ tools: [tool] })).toEqual([400, 'tools']);
    expect(await refused({ tool_choice: 'required' })).toEqual([400, 'tool_choice']);
    expect(await refused({ response_format: { type: 'json_object' } })).toEqual([400, 'response_format']);
    expect(await refused({ stop: ['x'] })).toEqual([400, 'stop']);
    expect(await refused({ messages: [] })).toEqual([400, 'messages']);
    expect(await refused({ messages: [{ role: 'assistant', content: 'Hi.' }] })).toEqual([400, 'messages']);
    expect(await refused({ messages: 'Hi.' })).toEqual([400, 'messages']);
    expect(await refused({ messages: [null] })).toEqual([400, 'messages']);
    expect(await refused({ messages: [{ role: 'pope', content: 'Hi.' }] })).toEqual([400, 'messages']);
    expect(await refused({ messages: [user(' ')] })).toEqual([400, 'messages']);
    expect(await refused({ messages: Array.from({ length: 10_000 }, () => user('Hi.')) })).toEqual([
      400,
      'messages',
    ]);
    const image = { type: 'image_url', image_url: { url: 'data:,' } };
    expect(await refused({ messages: [{ role: 'user', content: [image] }] })).toEqual([400, 'messages']);
    expect(await refused({ model: 7 })).toEqual([400, 'model']);
    expect(await refused({ stream: 'yes' })).toEqual([400, 'stream']);
    expect(await stage.store.list({ kind: 'session' })).toEqual([]);
  });

  it('tell a stream that the server ends, and leave the session to be taken up again', async () => {
    stage = await openStage({
      helper: { turns: [`${call('a1', 'endless')}${final('$a1')}`], tools: [endless] },
    });
    const streaming = streamOf(clientOf(stage), 'helper');
    await expect.poll(() => stage.newest()).not.toBe('');
    const drained = stage.drain();
    await expect(streaming).rejects.toMatchObject({ code: 'closing' });
    await drained;
    expect(await stage.status(await stage.newest())).toBe('running');
  });
});
