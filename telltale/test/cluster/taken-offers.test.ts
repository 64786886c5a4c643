import { describe, expect, it } from 'vitest';
import { createTakenOffers } from '../../src/cluster/fleet-engine.ts';
import type { TakenOffer, WorkFailure } from '../../src/cluster/work-queue.ts';
import type { WorkEnd } from '../../src/engine/engine.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { StreamInfo } from '../../src/store/store.ts';

describe('an offer that was taken', () => {
  const NOW = 1_000;
  const stage = (info?: Partial<StreamInfo>, ends: 'again' | 'aside' = 'again') => {
    const story: string[] = [];
    const offers = createTakenOffers({
      onError: (thrown, { stream }) => story.push(`error of ${stream}: ${(thrown as Error).message}`),
      onQuarantined: ({ stream, why, at }) => story.push(`${stream} aside at ${at}: ${why}`),
      now: () => NOW,
      store: { info: async () => info as StreamInfo | undefined },
      forgive: async (stream) => void story.push(`forgiven ${stream}`),
    });
    const offer = (stream: string, more: Partial<TakenOffer> = {}): TakenOffer => ({
      kind: 'run',
      stream,
      group: 'g',
      waitedMs: 0,
      retries: 0,
      settled: async () => void story.push(`settled ${stream}`),
      failed: async ({ code, message }: WorkFailure) => {
        story.push(`failed ${stream}: ${code} ${message}`);
        return ends;
      },
      passedOn: async (tried) => void story.push(`passed on ${stream}: ${tried}`),
      quarantined: async ({ code, message }) => {
        story.push(`quarantined ${stream}: ${code}`);
        return { kind: 'run', stream, group: 'g', at: NOW, why: `${message} [${code}]` };
      },
      ...more,
    });
    const perform = (work: (taken: () => void) => Promise<WorkEnd>, placedBy?: string) =>
      offers.perform('run', 'a', work, placedBy);
    return { offers, offer, perform, story };
  };
  const DONE: WorkEnd = { kind: 'done' };

  it('is settled as soon as its stream is held, once', async () => {
    const { offers, offer, perform, story } = stage();
    offers.add(offer('a'));
    expect(offers.groups).toEqual(new Map([['g', 1]]));
    const ended = await perform(async (taken) => {
      expect(offers.groups).toEqual(new Map([['g', 1]]));
      taken();
      taken();
      return { kind: 'waiting', due: 7 };
    });
    expect([ended, story, offers.groups.size]).toEqual([{ kind: 'waiting', due: 7 }, ['settled a'], 0]);
  });

  it('is settled where there was nothing to do, and offered again where something was left', async () => {
    const left = async (info: Partial<StreamInfo> | undefined) => {
      const { offers, offer, perform, story } = stage(info);
      offers.add(offer('a'));
      const ended = await perform(async () => ({ kind: 'waiting' }));
      const isLeft = story.some((line) => line.startsWith('failed a: work_left'));
      expect(ended).toEqual(isLeft ? DONE : { kind: 'waiting' });
      expect(story).toHaveLength(1);
      return isLeft;
    };
    const owner = { process: 'p' } as never;
    expect(await left(undefined)).toBe(false);
    expect(await left({ status: 'running' })).toBe(true);
    expect(await left({ status: 'running', owner })).toBe(false);
    expect(await left({ status: 'completed' })).toBe(false);
    expect(await left({ status: 'completed', due: NOW })).toBe(false);
    expect(await left({ status: 'waiting' })).toBe(false);
    expect(await left({ status: 'waiting', due: NOW })).toBe(true);
    expect(await left({ status: 'waiting', due: NOW + 1 })).toBe(false);
    expect(await left({ status: 'waiting', due: NOW + 1, messages: 1 } as never)).toBe(true);
  });

  it('that cannot be worked on here is offered again, and is the queue’s to try', async () => {
    const { offers, offer, perform, story } = stage({}, 'aside');
    offers.add(offer('a'));
    const why = { code: 'agent_unknown', message: 'No such agent.' };
    expect(await perform(async () => ({ kind: 'unable', why, due: 5 }))).toEqual(DONE);
    expect(story).toEqual([
      'failed a: agent_unknown No such agent.',
      'a aside at 1000: No such agent. [agent_unknown]',
    ]);
  });

  it('whose work throws before it is held is offered again; one that was held, or never offered, throws', async () => {
    const { offers, offer, perform, story } = stage();
    const broken = new RuntimeError('broken', 'Broken.');
    offers.add(offer('a'));
    expect(await perform(() => Promise.reject(broken))).toEqual(DONE);
    expect(story).toEqual(['failed a: broken Broken.']);
    offers.add(offer('a'));
    const held = perform(async (taken) => {
      taken();
      throw broken;
    });
    await expect(held).rejects.toBe(broken);
    await expect(perform(() => Promise.reject(broken))).rejects.toBe(broken);
    expect([story.slice(1), offers.groups.size]).toEqual([['settled a'], 0]);
  });

  it.each(['stream_owned', 'stream_lost', 'stream_moved'])(
    'is another’s with %s, and settled',
    async (code) => {
      const { offers, offer, perform, story } = stage({ status: 'completed' });
      offers.add(offer('a'));
      expect(await perform(() => Promise.reject(new RuntimeError(code, 'Not ours.')))).toEqual(DONE);
      expect(await perform(() => Promise.reject(new RuntimeError(code, 'Not ours.')))).toEqual(DONE);
      expect(story).toEqual(['settled a']);
    },
  );

  it('that workers died with is forgiven once somebody has held it, and only then', async () => {
    const { offers, offer, perform, story } = stage();
    offers.add(offer('a', { deaths: 2 }));
    await perform(async () => DONE);
    offers.add(offer('a', { deaths: 2 }));
    await perform(async (taken) => {
      taken();
      return DONE;
    });
    offers.add(offer('a'));
    await perform(async (taken) => {
      taken();
      return DONE;
    });
    expect(story).toEqual(['settled a', 'settled a', 'forgiven a', 'settled a']);
  });

  it('counts for its group, as does what was placed here, while it is in hand', async () => {
    const { offers, offer, perform } = stage();
    offers.add(offer('b'));
    await perform(async () => {
      expect(offers.groups).toEqual(
        new Map([
          ['g', 1],
          ['mine', 1],
        ]),
      );
      return DONE;
    }, 'mine');
    expect(offers.groups).toEqual(new Map([['g', 1]]));
    await perform(async () => {
      expect(offers.groups).toEqual(new Map([['g', 1]]));
      return DONE;
    });
  });

  it('and not begun is given back, and its group is free', async () => {
    const { offers, offer, story } = stage();
    const slow = { settled: () => Promise.reject(new Error('no database')) };
    for (const each of [offer('a'), offer('b', { group: 'h' }), offer('c', slow)]) offers.add(each);
    await offers.giveBack();
    await offers.giveBack();
    expect([story, offers.groups.size]).toEqual([['settled a', 'settled b', 'error of c: no database'], 0]);
  });

  it('whose failure cannot be said is told of', async () => {
    const { offers, offer, story } = stage();
    const deaf = offer('a', { failed: () => Promise.reject(new Error('no database')) });
    await offers.fail(deaf, { code: 'x', message: 'y' });
    expect(story).toEqual(['error of a: no database']);
  });
});
