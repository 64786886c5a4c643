import { describe, expect, it } from 'vitest';
import { loadAgent } from '../../src/agent/load-agent.ts';
import type { SessionEvent } from '../../src/log/event.ts';
import { createScriptedModel } from '../../src/models/scripted/scripted-model.ts';
import { runAgent, tool } from './run-agent.ts';
import { call, step } from './speak.ts';

const FILES = tool('echo', 'return input.text ?? input;');
const TOOLS = 'import: { tools: [./tools/*.yml] }\n';
const METADATA = 'metadata: { fields: { status: { values: [IDLE, CODING], default: IDLE } } }\n';
const VARIABLES = 'context_variables: { runtime: [{ name: attempts, type: number, default: 0 }] }\n';

const ECHO = '<action>{"name": "echo"}</action>';
const WELL = '<response>All well.</response>';
const LOOP = '<foreach in="$list"><action>{"name": "echo"}</action>\n';
const respond = (text: string) => call('respond', { text });
const complete = { is_complete: true, notes: 'All well.' };

/** What a turn says before its final response, and the fault that keeps something in it from acting. */
type Case = readonly [code: string, turn: string, extra?: string];

const TAGS: readonly Case[] = [
  ['bad_json', `<action>{"name": "echo",, }</action>${WELL}`],
  ['bad_json', `<metadata>{"status" CODING}</metadata>${WELL}`],
  ['bad_action', `<action>{"name": "echo", "depend_on": []}</action>${WELL}`],
  ['bad_action', `<action>{"template": "none"}</action>${WELL}`],
  ['bad_action', `<foreach in="$list"><action>{"template": "none"}</action></foreach>${WELL}`],
  ['bad_attribute', `<action mode="soon">{"name": "echo"}</action>${WELL}`],
  ['duplicate_id', `<action id="e">{"name": "echo"}</action><action id="e">{"name": "echo"}</action>${WELL}`],
  [
    'body_too_large',
    `<action>{"name": "echo", "parameters": {"text": "${'x'.repeat(2000)}"}}</action>${WELL}`,
  ],
  ['no_body', `<action>echo</action>${WELL}`],
  ['tag_too_long', `<action id="${'x'.repeat(5000)}">{"name": "echo"}</action>${WELL}`],
  ['truncated', `${LOOP}${WELL}`],
  ['not_here', `<thought>${ECHO}</thought>${WELL}`, 'protocol: { actions_in: [outside], max_body: 1KiB }\n'],
  ['bad_test', `<if test="metadata.staus == 'IDLE'">${ECHO}</if>${WELL}`],
  ['bad_test', `<if test="metdata.status == 'IDLE'">${ECHO}</if>${WELL}`],
  ['bad_test', `<if test="metadata.status == ">${ECHO}</if>${WELL}`],
  ['bad_test', `<if test="metadata.status">${ECHO}</if>${WELL}`],
  ['unsealed', `${ECHO}${WELL}`, 'protocol: { seal: true }\n'],
];

const CALLS: readonly Case[] = [
  ['bad_json', call('echo', '{"text": x y}') + respond('All well.')],
  ['bad_json', call('set_metadata', '["CODING"]') + respond('All well.')],
  ['bad_action', call('echo', { _run: { depend_on: [] } }) + respond('All well.')],
  ['bad_action', call('echo', { _run: { template: 'none' } }) + respond('All well.')],
  ['bad_attribute', call('echo', { _run: { mode: 'soon' } }) + respond('All well.')],
  ['duplicate_id', call('echo', { _run: { id: 'e' } }).repeat(2) + respond('All well.')],
  ['body_too_large', call('echo', { text: 'x'.repeat(2000) }) + respond('All well.')],
];

const STEPS: readonly Case[] = [
  ['bad_action', step({ metadata: 'CODING', ...complete })],
  ['bad_action', step({ metdata: { status: 'CODING' }, ...complete })],
  ['bad_variable', step({ context_updates: { attempt: 2 }, ...complete })],
  ['bad_action', call('echo', { text: 'x' }) + step(complete)],
];

const CASES: readonly (readonly [
  dialect: string,
  so: string,
  code: string,
  turn: string,
  extra: string | undefined,
])[] = [
  ...TAGS.map(([code, turn, extra]) => ['tags', '<response>So.</response>', code, turn, extra] as const),
  ...CALLS.map(([code, turn, extra]) => ['tools', respond('So.'), code, turn, extra] as const),
  ...STEPS.map(
    ([code, turn, extra]) => ['step', step({ is_complete: true, notes: 'So.' }), code, turn, extra] as const,
  ),
];

const manifestOf = (dialect: string, extra = 'protocol: { max_body: 1KiB }\n') =>
  `dialect: ${dialect}\n${TOOLS}${METADATA}${VARIABLES}${extra}`;

const heard = (events: readonly SessionEvent[]): readonly string[] =>
  events.flatMap((event) => {
    if (event.type === 'response') return [`${event.final ? 'final: ' : ''}${event.text}`];
    return event.type === 'fault' ? [event.code] : [];
  });

describe('a final response in a turn in which something did not act', () => {
  it.each(CASES)('is undone in %s, and the model is told (%#)', async (dialect, so, code, turn, extra) => {
    const { of, result, prompts } = await runAgent({
      manifest: manifestOf(dialect, extra),
      files: FILES,
      turns: [turn, so],
    });
    const undone = of('fault').find((fault) => fault.code === 'final_undone');
    expect(of('fault').map((fault) => fault.code)).toContain(code);
    expect(undone?.message).toContain(
      dialect === 'step' ? '"is_complete" did not count' : 'was not taken as final',
    );
    expect(undone?.message).toContain(`did not act (${code})`);
    expect(prompts[1]).toContain('final_undone');
    expect(of('response').map(({ text, final }) => [text, final])).toEqual([
      ['All well.', false],
      ['So.', true],
    ]);
    expect(result).toMatchObject({ status: 'completed', result: 'So.', turns: 2 });
  });

  it('names each kind of fault once', async () => {
    const { of } = await runAgent({
      manifest: TOOLS,
      files: FILES,
      turns: [`${'<action>{,}</action>'.repeat(3)}<action x="1">{"name": "echo"}</action>${WELL}`, WELL],
    });
    expect(of('fault').at(-1)?.message).toContain('did not act (bad_json, bad_attribute)');
  });

  it('is undone behind any number of faults about prose', async () => {
    const { of, prompts } = await runAgent({
      turns: [`${'</thought> '.repeat(80)}<action>{,}</action>${WELL}`, WELL],
    });
    expect(of('fault').at(-1)?.message).toContain('did not act (bad_json)');
    expect(prompts[1]).toContain('final_undone');
  });
});

describe('a final response counts', () => {
  it.each([
    ['stray_close', `</action>${WELL}`],
    ['thought_left_open', `<thought>Hm.\n${WELL}`],
    ['reserved_tag', `<result>x</result>${WELL}`],
    ['not_in_response', '<response>All well, with <action> and all.</response>'],
    ['fence_left_open', '<response>All well:\n```\nx\n</response>'],
  ])('where the fault is about prose (%s)', async (code, turn) => {
    const { of, result } = await runAgent({ turns: [turn] });
    expect(of('fault').map((fault) => fault.code)).toContain(code);
    expect(result).toMatchObject({ status: 'completed', turns: 1 });
  });

  it('where what is wrong stands in a branch that does not hold', async () => {
    const { result } = await runAgent({ turns: [`<if test="1 > 2"><action>{,}</action></if>${WELL}`] });
    expect(result).toMatchObject({ status: 'completed', turns: 1 });
  });

  it('where what did not act was told before it', async () => {
    const { result } = await runAgent({ turns: ['<action>{,}</action>', WELL] });
    expect(result).toMatchObject({ status: 'completed', turns: 2 });
  });
});

describe('after a crash', () => {
  it.each([
    ['tags', `<action>{,}</action>${WELL}`, '<response>So.</response>'],
    ['tags', `${'<action>{,}</action>'.repeat(2)}${WELL}`, '<response>So.</response>'],
    [
      'tags',
      `<if test="metadata.staus == 'A'">${ECHO}<else/>${ECHO}</if>${WELL}`,
      '<response>So.</response>',
    ],
    ['tools', call('echo', '{"text": x y}') + respond('All well.'), respond('So.')],
    ['step', step({ metadata: 'CODING', ...complete }), step({ is_complete: true, notes: 'So.' })],
  ])('it is decided the same way, wherever the log ends (%s, %#)', async (dialect, turn, so) => {
    const turns = [turn, so];
    const wrong: unknown[] = [];
    let places = 0;
    const { events } = await runAgent({
      manifest: manifestOf(dialect),
      files: FILES,
      turns,
      after: async (session, runtime) => {
        const whole = await runtime.events(session);
        const told = heard(whole);
        const path = (await runtime.state(session)).manifest.path;
        const agent = await loadAgent(path, {});
        const undone = whole.findIndex((event) => event.type === 'fault' && event.code === 'final_undone');
        // The last event completes it; a response and why it does not count are one append.
        for (const [index, { seq, turn: at }] of whole.slice(0, -1).entries()) {
          if (at === 0 || index === undone - 1) continue;
          places++;
          const id = await runtime.fork(session, seq);
          const model = createScriptedModel({ id: 'scripted:test', turns });
          await (await runtime.resume(id, { agent, model })).result;
          const again = heard(await runtime.events(id));
          if (JSON.stringify(again) !== JSON.stringify(told)) wrong.push({ seq, again, told });
        }
      },
    });
    expect(heard(events)).toContain('final_undone');
    expect(places).toBeGreaterThan(6);
    expect(wrong).toEqual([]);
  });
});
