import { describe, expect, it } from 'vitest';
import { createGuide } from '../../../src/agent/agent-session.ts';
import { createGuidance, type Order } from '../../../src/agent/guided/guidance.ts';
import { createStop } from '../../../src/agent/stop.ts';
import type { EventBody } from '../../../src/log/event.ts';
import { failure, TURN, TURN_ENDED } from '../../log/fold-bodies.ts';
import { acted, createLedLog, NOTES } from './led-log.ts';

const CLAIMED: EventBody = { type: 'task.claimed', task: 't', nth: 1, action: 'end', notes: NOTES };
const CAUSE = { stream: 'run_a', seq: 4, depth: 2 };
const TASK = { key: 'u', prompt: 'Next.', requires: {}, accepts: {}, evidence: [], judgesTurns: false };

function stage({ resumed = false, given = {} as object } = {}) {
  const led = createLedLog(given);
  const lead = createGuidance();
  const stop = createStop();
  const resultOf = (output: unknown) => `result of ${String(output)}`;
  const guide = createGuide({ lead, log: led.log, stop, resumed, resultOf: resultOf as never });
  /** Where it stands when it waits, and what it comes to with these orders, one after the other. */
  const ordered = async (...orders: readonly Order[]) => {
    const ended = guide.before();
    const standing: unknown[] = [];
    for (const order of orders) {
      standing.push(await lead.standing(new AbortController().signal));
      lead.order(order);
    }
    return { standing, end: await ended };
  };
  return { ...led, lead, stop, guide, ordered };
}

describe('before its turn a session that is led', () => {
  it('waits for nothing while it has something to do', () => {
    expect(stage().guide.before()).toBeUndefined();
    expect(stage({ given: { max_turns: 1 } }).guide.before()).toBeUndefined();
  });

  it('that has nothing to do takes the task that it is given, in place of the one before', async () => {
    const { fold, ordered, appended } = stage();
    fold({ type: 'task.over', task: 't' });
    const full = { ...TASK, requires: { k: {} }, accepts: { l: {} }, evidence: ['test'], maxTurns: 3 };
    const { standing, end } = await ordered({
      kind: 'task',
      task: { ...full, judgesTurns: true },
      cause: CAUSE,
    });
    expect({ standing, end }).toEqual({ standing: [{ kind: 'idle' }], end: undefined });
    expect(appended).toEqual([
      {
        type: 'task.given',
        task: 'u',
        prompt: 'Next.',
        requires: { k: {} },
        accepts: { l: {} },
        evidence: ['test'],
        max_turns: 3,
        judged: true,
      },
    ]);
  });

  it('gives up a task that was taken back, and says so before the next', async () => {
    const { lead, ordered, appended } = stage();
    lead.withdraw('t');
    const { standing } = await ordered({ kind: 'task', task: TASK, cause: CAUSE });
    expect(standing).toEqual([{ kind: 'idle' }]);
    expect(appended).toEqual([
      { type: 'task.over', task: 't' },
      { type: 'task.given', task: 'u', prompt: 'Next.' },
    ]);
  });

  it('that claims its task waits for the word on it, and goes on where that is to try again', async () => {
    const { fold, ordered, appended } = stage();
    fold(...acted('one'), TURN_ENDED, CLAIMED);
    const { standing, end } = await ordered({
      kind: 'word',
      task: 't',
      nth: 1,
      word: { kind: 'again', text: 'Once more.', by: 'ann' },
    });
    expect(standing).toMatchObject([
      {
        kind: 'report',
        task: 't',
        report: { kind: 'claimed', nth: 1, notes: NOTES, by: 'ses_test', turns: 1, work: [{ id: 'one' }] },
        used: { model: 'scripted:x', input: 10, output: 5, cost_usd: 0.5 },
      },
    ]);
    expect(end).toBeUndefined();
    expect(appended).toEqual([{ type: 'task.answered', task: 't', nth: 1, text: 'Once more.', by: 'ann' }]);
  });

  it('reports that it is stuck with why, and a turn with its work', async () => {
    const stuck = stage();
    stuck.fold({ type: 'task.stuck', task: 't', nth: 1, why: 'It repeats.' });
    const said = { kind: 'word', task: 't', nth: 1, word: { kind: 'again', text: 'x', by: 'a' } } as const;
    const { standing } = await stuck.ordered(said);
    expect(standing).toMatchObject([{ report: { kind: 'stuck', why: 'It repeats.', turns: 0 } }]);
    const turn = stage();
    turn.fold(...acted('one'), { type: 'task.turn', task: 't', nth: 1 });
    expect((await turn.ordered(said)).standing).toMatchObject([
      { report: { kind: 'turn', nth: 1, work: [{ id: 'one' }], cause: { stream: 'ses_test' } } },
    ]);
  });

  it('fails its task with the last turn that it may take, and not before', async () => {
    const { fold, ordered, guide } = stage({ given: { max_turns: 2 } });
    fold(TURN_ENDED, TURN);
    expect(guide.before()).toBeUndefined();
    fold(TURN_ENDED);
    const { standing } = await ordered({ kind: 'task', task: TASK, cause: CAUSE });
    expect(standing).toMatchObject([
      { report: { kind: 'failed', by: 'ses_test', error: { code: 'max_turns' } } },
    ]);
  });

  it('that was resumed asks first whether its task is still wanted, once', async () => {
    const { ordered, guide, appended } = stage({ resumed: true });
    const { standing, end } = await ordered({ kind: 'go_on' });
    expect({ standing, end }).toEqual({ standing: [{ kind: 'resumed', task: 't' }], end: undefined });
    expect(appended).toEqual([]);
    expect(guide.before()).toBeUndefined();
  });

  it('waits with its run: the log says for what, and is then another process’s to write', async () => {
    const { fold, ordered, appended, stop } = stage();
    fold(CLAIMED);
    const { end } = await ordered({ kind: 'park', for: 'review r1' });
    expect(end).toEqual({ kind: 'stopped' });
    expect(appended).toMatchObject([{ type: 'session.waiting', for: 'review r1' }, { name: 'sealed' }]);
    expect(stop.reason).toEqual({ kind: 'wait' });
  });

  it.each([
    ['completed', { kind: 'completed', output: 1 }, { kind: 'completed', result: 'result of 1' }, undefined],
    ['failed', { kind: 'failed', error: failure('x') }, { kind: 'failed', error: { code: 'x' } }, undefined],
    [
      'cancelled',
      { kind: 'cancelled', reason: 'Enough.' },
      { kind: 'stopped' },
      { kind: 'cancel', reason: 'Enough.', by: 'workflow' },
    ],
  ] as const)('ends as its run did: %s', async (_how, ends, end, reason) => {
    const { fold, ordered, stop } = stage();
    fold(CLAIMED);
    expect((await ordered({ kind: 'over', end: ends })).end).toMatchObject(end);
    expect(stop.reason).toEqual(reason);
  });

  it('ends its wait where it is stopped', async () => {
    const { fold, guide, lead, stop } = stage();
    fold(CLAIMED);
    const ended = guide.before();
    await lead.standing(new AbortController().signal);
    stop.now({ kind: 'interrupt' });
    expect(await ended).toEqual({ kind: 'stopped' });
  });
});

describe('after its turn a session that is led', () => {
  const repeats = (id: string) =>
    acted(id).map((event) => (event.type === 'action.started' ? { ...event, input: {} } : event));
  const stuckTwice = [...repeats('x'), ...repeats('y'), ...repeats('z')];

  it('is told once that it does not come further, and reported the second time', () => {
    const { guide, fold, appended } = stage();
    fold(...stuckTwice);
    guide.after();
    expect(appended.map(({ type }) => type)).toEqual(['task.stuck', 'message.received']);
    expect(appended[0]).not.toHaveProperty('nth');
    expect(appended[1]).toMatchObject({ from: 'runtime', text: expect.stringContaining('3 times') });
    fold(TURN, ...repeats('u'), ...repeats('v'), ...repeats('w'));
    guide.after();
    expect(appended.slice(2)).toMatchObject([{ type: 'task.stuck', nth: 1, why: expect.any(String) }]);
  });

  it('has its turn reported where each is judged, once', () => {
    const { guide, appended, fold } = stage({ given: { judged: true } });
    guide.after();
    guide.after();
    expect(appended).toEqual([{ type: 'task.turn', task: 't', nth: 1 }]);
    fold({ type: 'task.answered', task: 't', nth: 1, by: 'verifier' });
    guide.after();
    expect(appended).toHaveLength(1);
    fold(TURN);
    guide.after();
    expect(appended.slice(1)).toEqual([{ type: 'task.turn', task: 't', nth: 2 }]);
  });

  it.each([
    ['its task is claimed', CLAIMED],
    ['it has none', { type: 'task.over', task: 't' }],
    ['the turn knew nothing of its task', { type: 'task.given', task: 'u', prompt: 'Next.', judged: true }],
  ] as [string, EventBody][])('says nothing where %s', (_what, event) => {
    const { guide, appended, fold } = stage({ given: { judged: true } });
    fold(...stuckTwice, event);
    guide.after();
    expect(appended).toEqual([]);
  });
});

describe('a run and the session that it leads', () => {
  const signal = () => new AbortController().signal;

  it('meet only where the session waits', async () => {
    const lead = createGuidance();
    expect(lead.isWaiting()).toBe(false);
    expect(lead.order({ kind: 'go_on' })).toBe(false);
    const waits = lead.wait({ kind: 'idle' }, createStop());
    expect(lead.isWaiting()).toBe(true);
    expect(await lead.standing(signal())).toEqual({ kind: 'idle' });
    expect(lead.order({ kind: 'go_on' })).toBe(true);
    expect(lead.order({ kind: 'go_on' })).toBe(false);
    expect(await waits).toEqual({ kind: 'go_on' });
  });

  it('hear of each other’s end, whichever comes first', async () => {
    const lead = createGuidance();
    const standing = lead.standing(signal());
    lead.close('ses_a', failure('x'));
    expect(await standing).toEqual({ kind: 'ended', session: 'ses_a', error: failure('x') });
    lead.end({ kind: 'cancelled', reason: 'Enough.' });
    expect(await lead.wait({ kind: 'idle' }, createStop())).toMatchObject({ kind: 'over' });
  });

  it('rest together, until the run goes on', async () => {
    const lead = createGuidance();
    lead.park('review r1');
    expect(await lead.wait({ kind: 'idle' }, createStop())).toEqual({ kind: 'park', for: 'review r1' });
    lead.unpark();
    const waits = lead.wait({ kind: 'idle' }, createStop());
    lead.park('review r2');
    expect(await waits).toEqual({ kind: 'park', for: 'review r2' });
    const next = lead.wait({ kind: 'idle' }, createStop());
    lead.order({ kind: 'go_on' });
    expect(await next).toEqual({ kind: 'go_on' });
  });

  it('part where the run is stopped while it waits for the session', async () => {
    const lead = createGuidance();
    await expect(lead.standing(AbortSignal.abort(new Error('Enough.')))).rejects.toThrow('Enough.');
    const control = new AbortController();
    const standing = lead.standing(control.signal);
    control.abort(new Error('Enough.'));
    await expect(standing).rejects.toThrow('Enough.');
  });
});
