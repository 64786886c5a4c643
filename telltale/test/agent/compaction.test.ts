import { describe, expect, it } from 'vitest';
import type { Session } from '../../src/agent/runtime-types.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import { estimateTokens } from '../../src/lib/tokens.ts';
import type { Model, ModelEnd, ModelSink } from '../../src/models/model.ts';
import { createScriptedModel } from '../../src/models/scripted/scripted-model.ts';
import { runAgent, tool } from './run-agent.ts';

const files = {
  ...tool('echo', 'return input;'),
  ...tool('page', 'return "x".repeat(2500);'),
};

/** A model with a small window, and a session that is too long for it. */
const turns = [
  '<action id="first" mode="sync">{"name":"echo","parameters":{"n":42}}</action>',
  ...[1, 2, 3, 4].map((n) => `<action id="page${n}" mode="sync">{"name":"page"}</action>`),
  '<action id="last" mode="sync">{"name":"echo","parameters":{"n":"$first.n"}}</action><response>$last.n</response>',
];
const model = createScriptedModel({ id: 'scripted:small', contextWindow: 4_000, turns });

/** What the log says a summary may have: a quarter at most of what prompt, answer and results leave of the 4,000 tokens. */
function roomOf(cut = ''): number {
  const room = Number(/the context window has room for (\d+)\.$/.exec(cut)?.[1]);
  expect(room).toBeGreaterThanOrEqual(100);
  expect(room).toBeLessThanOrEqual(625);
  return room;
}

describe('a session that outgrows its window', () => {
  it('goes on, its old results can still be named, and the reused part is told as it is', async () => {
    const { result, of } = await runAgent({
      manifest: 'import: { tools: [./tools/*.yml] }\n',
      files,
      turns: [],
      model,
    });
    expect(result).toMatchObject({ status: 'completed', result: '42' });
    const compacted = of('prompt.compacted')[0];
    expect(compacted?.through).toBeGreaterThan(0);
    const [before, after] = [
      of('turn.started').filter(({ seq }) => seq < (compacted?.seq ?? 0)),
      of('turn.started').find(({ seq }) => seq > (compacted?.seq ?? 0)),
    ];
    expect(before.every(({ prompt }) => prompt.reused_prefix === 1)).toBe(true);
    expect(after?.prompt.reused_prefix).toBeLessThan(1);
  });

  it('is not ended by a fast model that cannot be had: a script writes the summary', async () => {
    const { result, of } = await runAgent({
      manifest: 'import: { tools: [./tools/*.yml] }\nmodels: { fast: scripted:missing.yml }\n',
      files,
      turns: [],
      model,
    });
    expect(result).toMatchObject({ status: 'completed', result: '42' });
    expect(of('prompt.compacted').length).toBeGreaterThan(0);
    expect(of('audit')[0]?.what).toContain('scripted:missing.yml wrote no summary');
  });
});

it('a window that has no room for a summary is said so once, and no model is paid for one', async () => {
  const turns = [
    ...Array.from({ length: 8 }, (_, n) => `<action id="p${n}" mode="sync">{"name":"leaf"}</action>`),
    '<response>Read.</response>',
  ];
  const leaf = { ...files, ...tool('leaf', 'return "x".repeat(400);') };
  const manifest = 'import: { tools: [./tools/*.yml] }\n';
  // Beside the first prompt, a quarter for the answer and an eighth for results there is room for 200 tokens.
  const first = (await runAgent({ manifest, files: leaf, turns: ['<response>No.</response>'] })).of(
    'turn.started',
  )[0];
  const contextWindow = Math.round(((first?.prompt.tokens ?? 0) + 200) / 0.625);
  const reading = createScriptedModel({ id: 'scripted:tiny', contextWindow, turns });
  let summaries = 0;
  const model: Model = {
    id: 'mine',
    contextWindow,
    async stream(request, sink) {
      if (request.maxOutputTokens !== undefined) summaries++;
      return reading.stream(request, sink);
    },
  };
  const { result, of } = await runAgent({ manifest, files: leaf, turns: [], model });
  expect(result).toMatchObject({ status: 'completed', result: 'Read.' });
  expect(of('prompt.compacted').length).toBeGreaterThan(1);
  expect(summaries).toBe(0);
  const told = of('audit').filter(({ what }) => what.includes('little room'));
  expect(told).toHaveLength(1);
  expect(told[0]?.what).toContain(`The context window of mine (${contextWindow} tokens)`);
});

describe('a summary', () => {
  const pages = Array.from(
    { length: 16 },
    (_, n) => `<action id="p${n}" mode="sync">{"name":"leaf"}</action>`,
  );
  const reading = createScriptedModel({
    id: 'scripted:small',
    contextWindow: 4_000,
    turns: [...pages, '<response>Read.</response>'],
  });
  const end = 'Left to do: the rest.';

  it.each([
    ['in Latin letters', 'ten words '],
    ['in other ones', '日本語の要約。'],
  ])('that is longer than it may be does not fill the window, %s', async (_, words) => {
    const asked: string[] = [];
    const long: Model = {
      id: 'mine',
      contextWindow: 4_000,
      async stream(request, sink) {
        if (request.maxOutputTokens === undefined) return reading.stream(request, sink);
        asked.push(request.system);
        sink.text(`${words.repeat(2_000)}${end}`);
        return { finish: 'stop' };
      },
    };
    const { result, of } = await runAgent({
      manifest: 'import: { tools: [./tools/*.yml] }\n',
      files: { ...files, ...tool('leaf', 'return "x".repeat(500);') },
      turns: [],
      model: long,
    });
    expect(result).toMatchObject({ status: 'completed', result: 'Read.' });
    // A quarter of the window stays free for the answer.
    expect(Math.max(...of('turn.started').map(({ prompt }) => prompt.tokens))).toBeLessThan(3_000);
    const compacted = of('prompt.compacted');
    expect(compacted.length).toBeGreaterThan(0);
    expect(compacted.length).toBeLessThan(of('turn.started').length / 2);
    for (const { summary } of compacted)
      expect(summary).toMatch(/\[… \d+ characters left out …\]\n.*Left to do: the rest\.$/s);
    const cuts = of('audit').filter(({ what }) => what.includes('was cut'));
    expect(cuts).toHaveLength(compacted.length);
    const room = roomOf(cuts[0]?.what);
    expect(estimateTokens(compacted[0]?.summary ?? '')).toBeLessThanOrEqual(room);
    expect(asked[0]).toContain(`at most ${Math.round(room / 3.75)} words`);
  });
});

/** The model of the session writes its summaries itself, as told: only those have a limit of tokens. */
const writing = (
  summarize: (sink: ModelSink, signal: AbortSignal) => ModelEnd | Promise<ModelEnd>,
): Model => ({
  id: 'mine',
  contextWindow: 4_000,
  price: { input: 1_000_000, output: 2_000_000 },
  stream: async (request, sink) =>
    request.maxOutputTokens === undefined ? model.stream(request, sink) : summarize(sink, request.signal),
});

const DONE: ModelEnd = { finish: 'stop' };
const untilCut = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    const cancelled = () => reject(new RuntimeError('model_cancelled', 'It was cut.'));
    if (signal.aborted) cancelled();
    else signal.addEventListener('abort', cancelled);
  });

describe('what a summary used', () => {
  const compactedBy = async (summarize: Parameters<typeof writing>[0]) => {
    const { of, result } = await runAgent({
      manifest: 'import: { tools: [./tools/*.yml] }\n',
      files,
      turns: [],
      model: writing(summarize),
    });
    expect(result).toMatchObject({ status: 'completed', result: '42' });
    const [compacted] = of('prompt.compacted');
    return { ...compacted, audits: of('audit').map(({ what }) => what) };
  };
  const dear = (usage: { readonly input: number; readonly output: number } | undefined) =>
    (usage?.input ?? 0) + 2 * (usage?.output ?? 0);

  it('is what the provider says', async () => {
    const { usage, cost_usd } = await compactedBy((sink) => {
      sink.text('All so far.');
      return { ...DONE, usage: { input: 7, output: 3 } };
    });
    expect([usage, cost_usd]).toEqual([{ input: 7, output: 3 }, 13]);
  });

  it('is counted where the provider does not say', async () => {
    const { summary, usage, cost_usd } = await compactedBy((sink) => {
      sink.text('All so far.');
      return DONE;
    });
    expect(summary).toBe('All so far.');
    expect(usage).toEqual({ input: expect.any(Number), output: expect.any(Number), estimated: true });
    expect(Math.min(usage?.input ?? 0, usage?.output ?? 0)).toBeGreaterThan(0);
    expect(cost_usd).toBe(dear(usage));
  });

  it.each([
    ['listens', (signal: AbortSignal) => untilCut(signal)],
    ['goes on to its end', () => DONE],
  ])('is counted where it is cut off for its length, by a model that %s', async (_, end) => {
    const { summary, usage, cost_usd, audits } = await compactedBy((sink, signal) => {
      for (let said = 0; said < 40_000; said += 100) sink.text('ten words '.repeat(10));
      return end(signal);
    });
    expect(audits[0]).toMatch(/^The summary by mine was cut: it has about 8192 tokens, and /);
    expect(estimateTokens(summary ?? '')).toBeLessThanOrEqual(roomOf(audits[0]));
    expect(usage).toMatchObject({ estimated: true });
    expect(usage?.output).toBeGreaterThan(1_000);
    expect(cost_usd).toBe(dear(usage));
  });

  it('is counted where it broke off, and is nothing before its first word', async () => {
    const broken = new RuntimeError('model_broke_off', 'Gone.');
    const half = await compactedBy((sink) => {
      sink.text('Half of');
      throw broken;
    });
    expect(half.summary).not.toContain('Half of');
    expect(half.usage).toMatchObject({ estimated: true });
    expect(half.audits[0]).toContain('mine wrote no summary (model_broke_off)');
    const none = await compactedBy(() => {
      throw broken;
    });
    expect(none).not.toHaveProperty('usage');
  });

  it('counts what was reasoned before it broke off', async () => {
    const { usage } = await compactedBy((sink) => {
      for (let piece = 0; piece < 100; piece++) sink.reasoning('hmm ');
      throw new RuntimeError('model_broke_off', 'Gone.');
    });
    expect(usage).toMatchObject({ output: 100, estimated: true });
  });
});

describe('a summary', () => {
  const compact = (summarize: Parameters<typeof writing>[0], during?: (session: Session) => void) =>
    runAgent({
      manifest: 'import: { tools: [./tools/*.yml] }\n',
      files,
      turns: [],
      model: writing(summarize),
      ...(during === undefined ? {} : { during }),
    });

  it('of nothing but white space is a script’s, and was paid for', async () => {
    const { of } = await compact((sink) => {
      sink.text(' \n');
      return { ...DONE, usage: { input: 7, output: 3 } };
    });
    const [compacted] = of('prompt.compacted');
    expect(compacted?.summary).toMatch(/\S/);
    expect(compacted?.usage).toEqual({ input: 7, output: 3 });
    expect(of('audit')).toEqual([]);
  });

  it('that is being written when the session is cancelled stands for nothing, and is paid for', async () => {
    let asked = () => {};
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const { of, result } = await compact(
      (sink, signal) => {
        sink.text('All so far.');
        asked();
        return untilCut(signal);
      },
      (session) => void isAsked.then(() => session.cancel('Enough.')),
    );
    expect(result.status).toBe('cancelled');
    expect(of('prompt.compacted')).toEqual([]);
    expect(of('custom')).toMatchObject([{ name: 'llm.usage', data: { for: 'summary', estimated: true } }]);
    expect(of('audit')).toEqual([]);
    const turns = of('turn.completed').reduce((sum, { usage }) => sum + usage.output, 0);
    expect(result.usage.output).toBeGreaterThan(turns);
  });
});
