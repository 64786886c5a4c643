import { afterEach, describe, expect, it } from 'vitest';
import { fold } from '../../src/log/reduce.ts';
import { action } from './say.ts';
import { createStage, type Stage, type StageOptions, seen } from './stage.ts';

let stage: Stage | undefined;
afterEach(async () => {
  await stage?.close();
  stage = undefined;
});

async function staged(options: StageOptions): Promise<Stage> {
  stage = await createStage(options);
  return stage;
}

const SLOW = { slow: '' };

describe('a session that is interrupted and resumed', () => {
  it('while a final response waits at a $name says it once, with the value', async () => {
    const { start, resume, open, of, calls, called } = await staged({
      tools: SLOW,
      turns: [`${action('s', 'slow')}<response>It is $s.</response>`],
    });
    const first = start();
    await seen(first, 'turn.completed');
    await called(1);
    await first.interrupt();
    expect(await first.result).toMatchObject({ status: 'interrupted' });
    open('slow');
    const second = await resume();
    expect(await second.result).toMatchObject({ status: 'completed', result: 'It is slow done.', turns: 1 });
    expect(await of('response')).toHaveLength(1);
    expect(calls()).toEqual(['slow', 'slow']);
  });

  it('while responses wait behind one at a $name puts them on the log in the order in which they were said', async () => {
    const { start, resume, open, of } = await staged({
      tools: SLOW,
      turns: [
        `${action('s', 'slow')}<response final="false">One $s.</response><response final="false">Two.</response>`,
        '<response>Three.</response>',
      ],
    });
    const first = start();
    await seen(first, 'turn.completed');
    expect(await of('response')).toEqual([]);
    await first.interrupt();
    open('slow');
    await (await resume()).result;
    expect((await of('response')).map(({ text, turn }) => [text, turn])).toEqual([
      ['One slow done.', 1],
      ['Two.', 1],
      ['Three.', 2],
    ]);
  });

  it('twice while a response of a broken turn waits brings it out before the next turn begins', async () => {
    const { start, resume, open, of, log } = await staged({
      tools: SLOW,
      endless: 1,
      turns: [
        `${action('s', 'slow')}<response final="false">One $s.</response>`,
        '<response>Two.</response>',
      ],
    });
    const first = start();
    await seen(first, 'action.started');
    await first.interrupt();
    const second = await resume();
    await seen(second, 'turn.failed');
    await second.interrupt();
    open('slow');
    const third = await resume();
    expect(await third.result).toMatchObject({ result: 'Two.' });
    expect((await of('response')).map(({ text }) => text)).toEqual(['One slow done.', 'Two.']);
    const types = (await log()).map(({ type }) => type);
    expect(types.indexOf('response')).toBeLessThan(types.lastIndexOf('turn.started'));
  });

  it('at any place behind the end of its last turn does not ask the model again', async () => {
    const { start, resume, runtime, log, prompts } = await staged({
      turns: ['<response>Done.</response>', '<response>Asked again.</response>'],
    });
    await start().result;
    const events = await log();
    const over = events.findIndex(({ type }) => type === 'turn.completed') + 1;
    expect(events.slice(over).map(({ type }) => type)).toEqual(['response', 'session.completed']);
    for (const seq of [over, over + 1]) {
      const session = await resume(await runtime.fork('ses_stage', seq));
      expect(await session.result).toMatchObject({ status: 'completed', result: 'Done.', turns: 1 });
      const again = await runtime.events(session.id);
      expect(again.filter(({ type }) => type === 'response')).toHaveLength(1);
    }
    expect(prompts).toHaveLength(1);
  });

  it('while a <foreach> waits for its list keeps the ids it has given out', async () => {
    const { start, resume, open, of, calls, called, runtime } = await staged({
      tools: { slow: '', quick: '' },
      turns: [
        `${action('l', 'slow', { parameters: { list: ['x', 'y'] } })}<foreach in="$l" as="item"><action>{"name":"quick","parameters":{"text":"$item"}}</action></foreach>`,
        '<action>{"name":"quick","parameters":{"text":"z"}}</action><response>$a2, $foreach_1</response>',
      ],
    });
    const first = start();
    await seen(first, 'turn.completed');
    await called(1);
    await first.interrupt();
    await runtime.steer('ses_stage', 'Also do z.'); // a message ends the wait for the list
    const second = await resume();
    await seen(second, 'action.declared', 3);
    open('slow');
    expect(await second.result).toMatchObject({ status: 'completed' });
    expect(await of('fault')).toEqual([]);
    expect([...calls()].sort()).toEqual(['quick x', 'quick y', 'quick z', 'slow', 'slow']);
    expect((await of('action.declared')).map(({ action: { id } }) => id)).toEqual([
      'l',
      'foreach_1',
      'a2',
      'a1[0]',
      'a1[1]',
    ]);
  });

  it('before its turn has ended does not start what waits for the end, and says so', async () => {
    const { start, resume, of, calls, prompts } = await staged({
      tools: { quick: 'idempotent: true\nstart: on_turn_end' },
      endless: 1,
      turns: [action('late', 'quick'), '<response>Done.</response>'],
    });
    const first = start();
    await seen(first, 'action.declared');
    await first.interrupt();
    const second = await resume();
    await second.result;
    expect((await of('action.skipped')).map(({ id, reason }) => [id, reason])).toEqual([
      ['late', 'turn_failed'],
    ]);
    expect(prompts.join()).toContain('id="late" name="quick" status="skipped"');
    expect(calls()).toEqual([]);
  });

  it('after its turn has ended starts what waited for that and for another', async () => {
    const { start, resume, open, of, calls, called } = await staged({
      tools: { slow: '', quick: 'start: on_turn_end' },
      turns: [
        `${action('s', 'slow')}${action('late', 'quick', { depends_on: ['s'] })}`,
        '<response>$late</response>',
      ],
    });
    const first = start();
    await seen(first, 'turn.completed');
    await called(1);
    await first.interrupt();
    open('slow');
    expect(await (await resume()).result).toMatchObject({ result: 'quick done' });
    expect(calls()).toEqual(['slow', 'slow', 'quick']);
    expect(await of('action.interrupted')).toEqual([]);
  });

  it('between a steer and its turn tells the model of it once; one that is sent meanwhile, too', async () => {
    const { start, resume, open, of, prompts, runtime } = await staged({
      tools: SLOW,
      turns: [action('s', 'slow', {}, 'sync'), '<response>One.</response>', '<response>Two.</response>'],
    });
    const first = start();
    await seen(first, 'action.started');
    await first.steer('Mind the gap.');
    await seen(first, 'message.received');
    await first.interrupt();
    await runtime.steer('ses_stage', 'And the door.');
    open('slow');
    await (await resume()).result;
    expect((await of('message.received')).map(({ text }) => text)).toEqual([
      'Mind the gap.',
      'And the door.',
    ]);
    expect(prompts.filter((prompt) => prompt.includes('Mind the gap.'))).toHaveLength(1);
    expect(prompts.filter((prompt) => prompt.includes('And the door.'))).toHaveLength(1);
  });

  it('during the wait for a model that failed goes on at once', async () => {
    const { start, resume, of } = await staged({
      turns: [
        { text: '<thought>Hm.</thought>', failAfter: 22, failWith: 'model_overloaded' },
        '<response>Done.</response>',
      ],
    });
    const first = start();
    const { retry_in = 0 } = await seen(first, 'turn.failed');
    expect(retry_in).toBeGreaterThan(400);
    await first.interrupt();
    expect(await (await resume()).result).toMatchObject({ result: 'Done.' });
    expect(await of('turn.failed')).toHaveLength(1);
  });

  it('at a sync action that cuts the stream shows the model its result first', async () => {
    const { start, resume, open, prompts, runtime, of } = await staged({
      tools: SLOW,
      manifest: 'protocol: { on_sync: observe }\n',
      turns: [
        `${action('s', 'slow', {}, 'sync')}<response>I guess it is this.</response>`,
        '<response>Done.</response>',
      ],
    });
    open('slow');
    await start().result;
    const [begun] = await of('action.started');
    const session = await resume(await runtime.fork('ses_stage', begun?.seq ?? 0));
    expect(await session.result).toMatchObject({ result: 'Done.' });
    expect(prompts.at(-1)).toContain('slow done');
    const types = (await runtime.events(session.id)).map(({ type }) => type);
    expect(types).not.toContain('turn.failed');
  });

  it('in the middle of a thought keeps the thought', async () => {
    const { start, resume, of } = await staged({
      tools: { quick: '' },
      endless: 1,
      turns: [`<thought>First this. ${action('q', 'quick')}`, '<response>Done.</response>'],
    });
    const first = start();
    await seen(first, 'action.completed');
    await first.interrupt();
    await (await resume()).result;
    expect((await of('thought')).map(({ text }) => text)).toEqual(['First this. ']);
  });

  it('inside a branch that does not hold does not enter it', async () => {
    const { start, resume, of, calls } = await staged({
      tools: { quick: '' },
      endless: 1,
      turns: [
        `${action('a', 'quick')} <if test="1 > 2">Then I would ${action('b', 'quick', { parameters: { text: 'never' } })} and`,
        '<response>Done.</response>',
      ],
    });
    const first = start();
    await seen(first, 'action.completed');
    await first.interrupt();
    await (await resume()).result;
    expect(calls()).toEqual(['quick']);
    expect((await of('action.declared')).map(({ action: { id } }) => id)).toEqual(['a']);
  });

  it('inside a branch that holds does not enter the other one', async () => {
    const { start, resume, runtime, of, calls } = await staged({
      tools: { quick: '' },
      turns: [
        `<if test="1 < 2">${action('a', 'quick', { parameters: { text: 'a' } })}${action('b', 'quick', { parameters: { text: 'b' } })}<else/>${action('c', 'quick', { parameters: { text: 'c' } })}</if>`,
        '<response>Done.</response>',
      ],
    });
    await start().result;
    const [declared] = await of('action.declared');
    const session = await resume(await runtime.fork('ses_stage', declared?.seq ?? 0));
    expect(await session.result).toMatchObject({ result: 'Done.' });
    expect([...calls()].sort()).toEqual(['quick a', 'quick a', 'quick b', 'quick b']);
    const faults = (await runtime.events(session.id)).flatMap((event) =>
      event.type === 'fault' ? [event.code] : [],
    );
    expect(faults).toEqual([]);
  });

  it('inside a <parallel> runs the rest, and skips what depends on all of it', async () => {
    const { start, resume, runtime, of, calls } = await staged({
      tools: { quick: '' },
      turns: [
        `<parallel id="g">${action('a', 'quick', { parameters: { text: 'a' } })}${action('b', 'quick', { parameters: { text: 'b' } })}</parallel>${action('c', 'quick', { parameters: { text: 'c' }, depends_on: ['g'] })}`,
        '<response>$a $b $c</response>',
      ],
    });
    await start().result;
    const [declared] = await of('action.declared');
    const session = await resume(await runtime.fork('ses_stage', declared?.seq ?? 0));
    expect(await session.result).toMatchObject({
      result: 'quick done quick done [unavailable: c: "c" was skipped (dependency: g).]',
    });
    expect(calls().slice(3).sort()).toEqual(['quick a', 'quick b']);
  });

  it('has the same state as its folded log', async () => {
    const { start, resume, open, runtime, log } = await staged({
      tools: { slow: '' },
      turns: [`${action('s', 'slow')}<response>$s</response>`],
    });
    const first = start();
    await seen(first, 'action.started');
    await first.interrupt();
    open('slow');
    await (await resume()).result;
    expect(fold(await log())).toEqual(await runtime.state('ses_stage'));
  });
});

describe('a session that came to an end and is resumed', () => {
  it('after it was cancelled goes on with what was cancelled in view, behind which nothing has been said', async () => {
    const asked = action('s', 'slow', {}, 'sync');
    const { start, resume, open, calls, called, prompts } = await staged({
      tools: { slow: '', quick: '' },
      turns: [`${asked}${action('never', 'quick')}<thought>Hm.</thought>`, '<response>Done.</response>'],
    });
    const first = start();
    await called(1);
    await first.cancel('enough');
    expect(await first.result).toMatchObject({ status: 'cancelled' });
    open('slow');
    expect(await (await resume()).result).toMatchObject({ status: 'completed', result: 'Done.' });
    expect(calls()).toEqual(['slow']);
    expect(prompts.at(-1)).toContain('enough');
    expect(prompts.at(-1)).toContain(`broke off after ${asked.length} characters`);
    expect(prompts.at(-1)).not.toContain('never');
  });

  it('after it stalled goes on with the hint it was given', async () => {
    const { start, resume, prompts, runtime } = await staged({
      turns: [
        '<thought>1</thought>',
        '<thought>2</thought>',
        '<thought>3</thought>',
        '<response>Done.</response>',
      ],
    });
    expect(await start().result).toMatchObject({ status: 'stalled' });
    await runtime.steer('ses_stage', 'Just say done.');
    expect(await (await resume()).result).toMatchObject({ status: 'completed', result: 'Done.' });
    expect(prompts.at(-1)).toContain('Just say done.');
  });
});
