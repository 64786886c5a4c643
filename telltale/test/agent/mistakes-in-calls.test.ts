import { describe, expect, it } from 'vitest';
import { describeEvent } from '../../src/cli/view/describe-event.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import type { ModelMessage } from '../../src/models/model.ts';
import { createScriptedModel } from '../../src/models/scripted/scripted-model.ts';
import { type Ran, runAgent, tool } from './run-agent.ts';
import { call, step } from './speak.ts';

const FILES = tool('echo', 'return input.text ?? input;');
const TOOLS = 'import: { tools: [./tools/*.yml] }\n';

interface Told extends Ran {
  /** What the model was told behind its first turn. */
  readonly told: string;
  /** What a person sees of the events of one type. */
  seen(type: 'fault' | 'action.failed'): readonly string[];
}

async function tell(dialect: 'tools' | 'step', turns: readonly string[]): Promise<Told> {
  const requests: (readonly ModelMessage[])[] = [];
  const scripted = createScriptedModel({ id: 'scripted:test', turns, chunk: 100_000 });
  const ran = await runAgent({
    manifest: `dialect: ${dialect}\n${TOOLS}`,
    files: FILES,
    // On this clock no time passes: a turn waits for its actions, however long they really take.
    clock: createSimulatedClock(),
    turns: [],
    model: {
      ...scripted,
      stream(request, sink) {
        requests.push([...request.messages]);
        return scripted.stream(request, sink);
      },
    },
  });
  const news = requests[1]?.slice(requests[0]?.length).filter(({ role }) => role !== 'assistant') ?? [];
  return {
    ...ran,
    told: news.map(({ text }) => text).join('\n'),
    seen: (type) => ran.of(type).map((event) => describeEvent(event, 400)),
  };
}

const done = { tools: call('respond', { text: 'Done.' }), step: step({ is_complete: true, notes: 'Done.' }) };

describe.each(['tools', 'step'] as const)('in %s the model and the person are told', (dialect) => {
  const calling = (name: string, input: object, run: object = {}) =>
    dialect === 'tools'
      ? call(name, { ...input, ...(Object.keys(run).length === 0 ? {} : { _run: run as never }) })
      : step({ thought: 't', tool_calls: [{ name, input: input as never, ...run }], is_complete: false });

  it('which tool was probably meant', async () => {
    const { told, seen } = await tell(dialect, [calling('ecko', {}), done[dialect]]);
    expect(told).toContain('There is no tool "ecko". Did you mean "echo"?');
    expect(seen('action.failed')[0]).toMatch(/There is no tool "ecko"\..* Did you mean "echo"\?/);
  });

  it('what a target of another kind is probably called', async () => {
    const { told, seen } = await tell(dialect, [calling('llm_summarise', { text: 'x' }), done[dialect]]);
    expect(told).toContain('There is no tool "llm_summarise". Did you mean "llm_summarize"?');
    expect(seen('action.failed')[0]).toContain('Did you mean "llm_summarize"?');
  });

  it('which modes there are', async () => {
    const { told, seen } = await tell(dialect, [calling('echo', {}, { mode: 'wait' }), done[dialect]]);
    const message = '"mode" is "wait". Allowed: sync, async, background, fire_and_forget.';
    expect(told).toContain(message);
    expect(seen('fault')[0]).toContain('[bad_attribute]');
    expect(told).toContain('Nothing in your last turn took effect: your mistakes say why.');
    expect(told).not.toContain('brought no action');
  });

  it('how to write quotes, where an input cannot be read', async () => {
    const bad = '{"text": "a "word""}';
    const turn =
      dialect === 'tools' ? call('echo', bad) : step(`{"tool_calls": [{"name": "echo", "input": ${bad}}]}`);
    const { told, seen } = await tell(dialect, [turn, done[dialect]]);
    expect(told).toContain('\\" for a quote');
    expect(seen('fault')[0]).toContain(dialect === 'tools' ? '[bad_json]' : '[bad_action]');
  });

  it('what the last mistake was, where nothing ever took effect', async () => {
    const { result } = await tell(
      dialect,
      [1, 2, 3].map(() => calling('echo', {}, { mode: 'wait' })),
    );
    expect(result.status).toBe('stalled');
    expect(result.error?.message).toMatch(
      /no response\. Its last mistake was bad_attribute: .*"mode" is "wait"/,
    );
  });
});

describe('a model is told', () => {
  it('that "_run" must be an object, and how one looks', async () => {
    const { told } = await tell('tools', [call('echo', { _run: 'sync' }), done.tools]);
    expect(told).toContain('"_run" must be an object, such as {"id": "…", "mode": "sync"}.');
  });

  it('in answer to "respond" that it was not taken as final, and of the second one that it came too late', async () => {
    const { told, of } = await tell('tools', [
      call('ecko') + call('respond', { text: 'One.' }) + call('respond', { text: 'Two.' }),
      done.tools,
    ]);
    expect(told).toContain('said, but not taken as final: see the mistakes below.');
    expect(told).toContain('after_final: Calls followed a final "respond" and were not made');
    expect(of('response').map(({ text }) => text)).toEqual(['One.', 'Done.']);
  });

  it('in answer to a "respond" that is not meant to be final that it is well', async () => {
    const { told } = await tell('tools', [call('respond', { text: 'One.', final: false }), done.tools]);
    expect(told).toBe('ok');
  });

  it('that a step is not complete without notes', async () => {
    const { told, seen, of } = await tell('step', [step({ thought: 't', is_complete: true }), done.step]);
    const message = '"is_complete" did not count: it needs "notes"';
    expect(told).toContain(message);
    expect(seen('fault')[0]).toContain('[bad_action]');
    expect(of('response').map(({ text, final }) => [text, final])).toEqual([['Done.', true]]);
  });
});
