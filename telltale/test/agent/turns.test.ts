import { describe, expect, it } from 'vitest';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { createScriptedModel } from '../../src/models/scripted/scripted-model.ts';
import { runAgent, tool } from './run-agent.ts';

const TOOLS = 'import: { tools: [./tools/*.yml] }\n';
const echo = tool('echo', 'return input.text ?? input;');
const fail = tool('fail', 'throw new Error("no such luck");');

const action = (name: string, attributes = '', body: object = {}) =>
  `<action${attributes === '' ? '' : ` ${attributes}`}>${JSON.stringify({ name, ...body })}</action>`;

describe('a session', () => {
  it('ends with a final response', async () => {
    const { result, types } = await runAgent({ turns: ['<response>Hello.</response>'] });
    expect(result).toMatchObject({ status: 'completed', result: 'Hello.', turns: 1 });
    expect(types).toEqual([
      'session.started',
      'turn.started',
      'model.output',
      'turn.completed',
      'response',
      'session.completed',
    ]);
  });

  it('every event has a cause that stands before it, up to one that lies outside', async () => {
    const { events } = await runAgent({
      manifest: TOOLS,
      files: echo,
      turns: [action('echo', 'id="e"', { parameters: { text: 'x' } }), '<response>$e</response>'],
    });
    for (const { seq, cause } of events) expect(cause.seq).toBeLessThan(seq);
    const started = events.find(({ type }) => type === 'action.started');
    const declared = events.find(({ type }) => type === 'action.declared');
    expect(started?.cause.seq).toBe(declared?.seq);
    expect(events[0]?.cause).toEqual({ stream: events[0]?.session, seq: 0, depth: 0 });
  });

  it('starts an action while the model is still speaking', async () => {
    const { types } = await runAgent({
      manifest: TOOLS,
      files: echo,
      turns: [
        `${action('echo', 'id="e" mode="sync"', { parameters: { text: 'now' } })}<thought>Go on.</thought><response>$e</response>`,
      ],
    });
    expect(types.indexOf('action.completed')).toBeLessThan(types.indexOf('thought'));
    expect(types.indexOf('action.completed')).toBeLessThan(types.indexOf('turn.completed'));
  });

  it('shows results, faults and rejected metadata to the model in the next turn', async () => {
    const { prompts, result } = await runAgent({
      manifest: `${TOOLS}metadata: { fields: { status: { values: [IDLE, CODING] } } }\n`,
      files: { ...echo, ...fail },
      // On this clock no time passes: the turn waits for its actions, however long they really take.
      clock: createSimulatedClock(),
      turns: [
        `${action('echo', 'id="e"', { parameters: { text: 'seen' } })}${action('fail', 'id="f"')}<metadata>{"status":"DANCING"}</metadata><action>no`,
        '<response>Done.</response>',
      ],
    });
    expect(result.status).toBe('completed');
    expect(prompts[1]).toContain('seen');
    expect(prompts[1]).toContain('no such luck');
    expect(prompts[1]).toContain('DANCING');
    expect(prompts[1]).toContain('no_body');
  });

  it('a response waits at the name of an action that is still running', async () => {
    const slow = tool('slow', 'await new Promise((r) => setTimeout(r, 30)); return "in the end";');
    const { result, types } = await runAgent({
      manifest: TOOLS,
      files: slow,
      turns: [`${action('slow', 'id="s"')}<response>It came $s.</response>`],
    });
    expect(result.result).toBe('It came in the end.');
    expect(types.indexOf('action.completed')).toBeLessThan(types.indexOf('response'));
  });

  it('a final response is undone when an action of its turn fails, and the model is told', async () => {
    const { of, prompts, result } = await runAgent({
      manifest: TOOLS,
      files: fail,
      turns: [`${action('fail', 'id="f"')}<response>All well.</response>`, '<response>It failed.</response>'],
    });
    expect(of('response').map(({ final }) => final)).toEqual([false, true]);
    expect(of('fault').map(({ code }) => code)).toEqual(['final_undone']);
    expect(prompts[1]).toContain('final_undone');
    expect(result.result).toBe('It failed.');
  });

  it.each(['held', 'hold'])(
    'with final_with_actions: %s a final response must name what its turn did',
    async (held) => {
      const { of, result } = await runAgent({
        manifest: `${TOOLS}protocol: { final_with_actions: ${held} }\n`,
        files: echo,
        turns: [
          `${action('echo', 'id="e"', { parameters: { text: 'x' } })}<response>Done.</response>`,
          `${action('echo', 'id="g"', { parameters: { text: 'y' } })}<response>Got $g.</response>`,
        ],
      });
      expect(of('response').map(({ held }) => held)).toEqual([['e'], undefined]);
      expect(result.result).toBe('Got y.');
    },
  );

  it('a non-final response goes out and the agent goes on', async () => {
    const { of, result } = await runAgent({
      turns: ['<response final="false">Working.</response>', '<response>Done.</response>'],
    });
    expect(of('response').map(({ text, final }) => [text, final])).toEqual([
      ['Working.', false],
      ['Done.', true],
    ]);
    expect(result.turns).toBe(2);
  });

  it('turns that only tell how far it is are not idle', async () => {
    const told = '<response final="false">Still at it.</response>';
    const { result, of } = await runAgent({ turns: [told, told, told, told, '<response>Done.</response>'] });
    expect(result).toMatchObject({ status: 'completed', result: 'Done.', turns: 5 });
    expect(of('message.received')).toEqual([]);
  });

  it('a turn that only tells how far it is waits for news of what runs in the background', async () => {
    const told = '<response final="false">Still at it.</response>';
    const slow = tool('slow', 'await new Promise((r) => setTimeout(r, 50)); return "in the end";');
    const { result, prompts } = await runAgent({
      manifest: TOOLS,
      files: slow,
      turns: [action('slow', 'id="s" mode="background"'), told, '<response>Done.</response>'],
    });
    expect(prompts[2]).toContain('in the end');
    expect(result).toMatchObject({ status: 'completed', result: 'Done.', turns: 3 });
  });

  it('what follows a closed final response is not read', async () => {
    const { of, types } = await runAgent({
      manifest: TOOLS,
      files: echo,
      turns: [`<response>Done.</response>${action('echo')}`],
    });
    expect(types).not.toContain('action.declared');
    expect(of('turn.completed')[0]?.finish).toBe('cut');
  });

  it('text without tags is asked for again once, then counts as the final response', async () => {
    const { of, result } = await runAgent({ turns: ['One.', 'Two.'] });
    expect(of('fault').map(({ code }) => code)).toEqual(['no_tags']);
    expect(result).toMatchObject({ status: 'completed', result: 'Two.', turns: 2 });
  });

  it.each([
    ['a fence that is left open', '```xml\n<response>Hi</response>', 'fence_left_open'],
    ['a closing tag that closes nothing', 'It ends with </thought>.', 'stray_close'],
    ["a tag of the runtime's", 'I see <result id="a"> here.', 'reserved_tag'],
  ])('text with %s holds no tag', async (_what, text, code) => {
    const { of, result } = await runAgent({ turns: [text, text] });
    expect(of('fault').map((fault) => fault.code)).toEqual([code, 'no_tags', code]);
    expect(result).toMatchObject({ status: 'completed', result: text, turns: 2 });
    const at = await runAgent({ manifest: 'protocol: { bare_text: final }\n', turns: [text] });
    expect(at.result).toMatchObject({ status: 'completed', result: text, turns: 1 });
  });

  it('a tag of which nothing came is a tag all the same', async () => {
    const { of, prompts } = await runAgent({
      manifest: 'metadata: { fields: { status: { values: [IDLE, BUSY], default: IDLE } } }',
      turns: [
        'Still at it.<metadata>{"status":"IDLE"}</metadata>',
        'And now.<parallel></parallel>',
        '<response>Done.</response>',
      ],
    });
    expect(of('fault')).toEqual([]);
    expect(prompts[1]).toContain('Your last turn brought no action');
  });

  it('with bare_text: final text without tags is the response at once', async () => {
    const { of, result } = await runAgent({
      manifest: 'protocol: { bare_text: final }\n',
      turns: ['Just this.'],
    });
    expect(result.result).toBe('Just this.');
    expect(of('fault')).toEqual([]);
  });

  it('a turn that acted before it broke off is none that did nothing', async () => {
    const idle = '<thought>Hm.</thought>';
    const text = `${action('echo')}<thought>Hm`;
    const { result, of } = await runAgent({
      manifest: TOOLS,
      files: echo,
      turns: [],
      model: createScriptedModel({
        id: 'scripted:test',
        turns: [idle, idle, { text, failAfter: text.length }, idle, '<response>Done.</response>'],
      }),
    });
    expect(of('turn.failed')).toHaveLength(1);
    expect(result).toMatchObject({ status: 'completed', result: 'Done.' });
  });

  it('three turns that do nothing end the session as stalled', async () => {
    const { result, prompts } = await runAgent({
      turns: [
        '<thought>Hm.</thought>',
        '<thought>Hm, hm.</thought>',
        '<thought>…</thought>',
        '<response>x</response>',
      ],
    });
    expect(result.status).toBe('stalled');
    expect(result.error?.code).toBe('stalled');
    expect(result.turns).toBe(3);
    expect(prompts[1]).toContain('no action, no metadata and no response');
  });

  it('an <if> runs only the branch that holds', async () => {
    const { of } = await runAgent({
      manifest: `${TOOLS}metadata: { fields: { status: { values: [IDLE, CODING], default: IDLE } } }\n`,
      files: echo,
      turns: [
        `<if test="metadata.status == 'CODING'">${action('echo', 'id="yes"')}<else/>${action('echo', 'id="no"')}</if><response>x</response>`,
      ],
    });
    expect(of('action.declared').map(({ action: { id } }) => id)).toEqual(['no']);
    expect(of('if.decided').map(({ held }) => held)).toEqual([false]);
  });

  it('of an <if> that cannot be decided neither branch counts, and the model is told why', async () => {
    const { of, result, prompts } = await runAgent({
      manifest: `${TOOLS}metadata: { fields: { dry_run: { type: boolean, default: true } } }\n`,
      files: echo,
      turns: [
        `<if test="metadata.dryrun">${action('echo', 'id="report"')}<if test="true"><response>A</response></if><else/>${action('echo', 'id="delete"')}<response>B</response></if>`,
        '<response>Mended.</response>',
      ],
    });
    expect(of('action.declared')).toEqual([]);
    expect(of('if.decided')).toMatchObject([
      { held: false, problem: expect.stringMatching(/dryrun.*dry_run/) },
    ]);
    expect(prompts[1]).toMatch(/bad_test.*"metadata\.dryrun".*Did you mean "dry_run"\?/);
    expect(result).toMatchObject({ status: 'completed', result: 'Mended.', turns: 2 });
  });

  it('tells the model which field of a test it could not decide is declared and not set', async () => {
    const { prompts } = await runAgent({
      manifest: 'metadata: { fields: { n: { type: number }, m: { type: number, default: 2 } } }\n',
      turns: [
        '<if test="metadata.n > metadata.m"><thought>a</thought></if><if test="metadata.o > metadata.m"><thought>b</thought></if><response>Done.</response>',
        '<response>Done.</response>',
      ],
    });
    expect(prompts[1]).toMatch(/"metadata\.n > metadata\.m".*Declared, but not set yet: metadata\.n\./);
    expect(prompts[1]).not.toMatch(/"metadata\.o > metadata\.m".*not set yet/);
  });

  it.each(['metdata.n > 1', 'metadata.n >', 'metadata.m > 1', 'metadata.n'])(
    'a final response beside an action whose "if" cannot be decided is undone (%s)',
    async (test) => {
      const { of, result, prompts } = await runAgent({
        manifest: `${TOOLS}metadata: { fields: { n: { type: number, default: 5 } } }\n`,
        files: echo,
        turns: [
          `${action('echo', 'id="e"', { if: test })}<response>Saved it.</response>`,
          '<response>Not saved.</response>',
        ],
      });
      expect(of('action.started')).toEqual([]);
      expect(of('fault').map(({ code }) => code)).toEqual(['final_undone']);
      expect(prompts[1]).toContain('its "if" could not be decided');
      expect(result).toMatchObject({ status: 'completed', result: 'Not saved.' });
    },
  );

  it('an action whose "if" does not hold leaves a final response final', async () => {
    const { of, result } = await runAgent({
      manifest: TOOLS,
      files: echo,
      turns: [
        `${action('echo', 'id="e"', { if: '1 > 2' })}<response>Nothing to do.</response>`,
        '<response>x</response>',
      ],
    });
    expect(of('action.skipped')).toMatchObject([{ reason: 'if' }]);
    expect(result).toMatchObject({ result: 'Nothing to do.', turns: 1 });
  });

  it('a foreach runs its actions once per item, and a response can name them all', async () => {
    const list = tool('list', 'return ["a", "b", "c"];');
    const { result, of } = await runAgent({
      manifest: TOOLS,
      files: { ...list, ...echo },
      turns: [
        `${action('list', 'id="l"')}<foreach in="$l" as="item">${action('echo', 'id="e"', { parameters: { text: 'got {{item}}' } })}</foreach><response>$e</response>`,
      ],
    });
    expect(of('action.completed').map(({ id }) => id)).toEqual(
      expect.arrayContaining(['e[0]', 'e[1]', 'e[2]']),
    );
    expect(result.result).toBe('["got a","got b","got c"]');
  });

  it('a parallel holds the stream at its close until all of it has ended', async () => {
    const slow = tool('slow', 'await new Promise((r) => setTimeout(r, input.ms)); return input.ms;');
    const { types, of } = await runAgent({
      manifest: TOOLS,
      files: slow,
      turns: [
        `<parallel id="g">${action('slow', 'id="a" mode="sync"', { parameters: { ms: 20 } })}${action('slow', 'id="b"', { parameters: { ms: 1 } })}</parallel><thought>After.</thought><response>x</response>`,
      ],
    });
    expect(of('action.completed').map(({ id }) => id)).toEqual(['b', 'a']);
    expect(types.lastIndexOf('action.completed')).toBeLessThan(types.indexOf('thought'));
  });

  it('with on_sync: observe nothing behind the sync action has been said, though it was read already', async () => {
    const { prompts, of, result } = await runAgent({
      manifest: `${TOOLS}protocol: { on_sync: observe, final_with_actions: accept }\n`,
      files: { ...echo, ...tool('slow', 'await new Promise((r) => setTimeout(r, 30)); return 1;') },
      turns: [
        `<parallel>${action('slow')}</parallel>${action('echo', 'id="e" mode="sync"')}Guessed.${action('echo', 'id="z"')}`,
        `${action('echo', 'id="z"')}<response>Done.</response>`,
      ],
    });
    expect(prompts[1]).not.toContain('Guessed');
    expect(of('model.output').map(({ text }) => text)).not.toContainEqual(expect.stringContaining('Guessed'));
    expect(of('action.declared').map(({ action: { id } }) => id)).toEqual(['a1', 'e', 'z']);
    expect(result).toMatchObject({ status: 'completed', turns: 2 });
  });

  it('with on_sync: observe the stream is cut at a sync action and the result is in the next prompt', async () => {
    const { of, prompts, result } = await runAgent({
      manifest: `${TOOLS}protocol: { on_sync: observe }\n`,
      files: echo,
      turns: [
        `${action('echo', 'id="e" mode="sync"', { parameters: { text: 'fresh' } })}<response>Guessing.</response>`,
        '<response>Knowing.</response>',
      ],
    });
    expect(of('turn.completed')[0]?.finish).toBe('cut');
    expect(prompts[1]).toContain('fresh');
    expect(result.result).toBe('Knowing.');
    const said = of('model.output')
      .filter(({ turn }) => turn === 1)
      .map(({ text }) => text)
      .join('');
    expect(said.endsWith('</action>')).toBe(true);
  });

  it('a template gives the defaults of an action', async () => {
    const { of, result } = await runAgent({
      manifest: `${TOOLS}action_templates: { say: { name: echo, mode: sync, parameters: { text: hi } } }\n`,
      files: echo,
      turns: ['<action id="s">{"template":"say"}</action><response>$s</response>'],
    });
    expect(of('action.declared')[0]?.action).toMatchObject({ name: 'echo', mode: 'sync', template: 'say' });
    expect(result.result).toBe('hi');
  });

  it('an unknown template is a fault that names the nearest', async () => {
    const { of } = await runAgent({
      manifest: `${TOOLS}action_templates: { fetch: { name: echo } }\n`,
      files: echo,
      turns: ['<action>{"template":"fecth"}</action>', '<response>x</response>'],
    });
    expect(of('fault')[0]).toMatchObject({ code: 'bad_action', message: expect.stringMatching(/"fetch"/) });
  });

  it('metadata is applied as it closes, with who set it', async () => {
    const { of, prompts } = await runAgent({
      manifest: 'metadata: { fields: { status: { values: [IDLE, CODING], default: IDLE } } }\n',
      turns: ['<metadata>{"status":"CODING"}</metadata>', '<response>x</response>'],
    });
    expect(of('metadata.changed')[0]).toMatchObject({
      changes: { status: { from: 'IDLE', to: 'CODING' } },
      by: 'model',
    });
    expect(prompts[1]).toContain('CODING');
  });

  it('with a seal, tags without the key are text', async () => {
    const { of, types } = await runAgent({
      manifest: `${TOOLS}protocol: { seal: true }\n`,
      files: echo,
      turns: [`${action('echo')}`, '<response>x</response>'],
    });
    expect(types).not.toContain('action.declared');
    expect(of('fault').map(({ code }) => code)).toContain('unsealed');
  });

  it('an output schema makes the result JSON; what is not is a soft error', async () => {
    const { of, result } = await runAgent({
      manifest: 'output: { schema: { type: object, required: [n], properties: { n: { type: number } } } }\n',
      turns: [
        '<response>n is 3</response>',
        '<response>{"n":"3"}</response>',
        '<response>{"n":3e999}</response>',
        '<response>{"n":3}</response>',
      ],
    });
    expect(of('fault').map(({ code }) => code)).toEqual(['bad_output', 'bad_output', 'bad_output']);
    expect(result.result).toEqual({ n: 3 });
  });

  it('the prompt only ever grows', async () => {
    const { of } = await runAgent({
      manifest: TOOLS,
      files: echo,
      turns: [
        action('echo', 'id="a"', { parameters: { text: '1' } }),
        action('echo', 'id="b"', { parameters: { text: '2' } }),
        '<response>x</response>',
      ],
    });
    expect(
      of('turn.started')
        .slice(1)
        .map(({ prompt }) => prompt.reused_prefix),
    ).toEqual([1, 1]);
  });
});
