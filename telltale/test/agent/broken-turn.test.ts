import { describe, expect, it } from 'vitest';
import { preventedActions } from '../../src/agent/turn/groups.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import type { Model } from '../../src/models/model.ts';
import { runAgent } from './run-agent.ts';
import { call, endSlow, FINAL, lived, of, seen } from './taken-up-stage.ts';

const OVERLOADED = new RuntimeError('overloaded', 'Too busy.', { retryable: true });

/** Breaks off behind these texts, one a request; then comes to its end. */
function breaking(...texts: readonly string[]): Model & { readonly requests: () => number } {
  let requests = 0;
  return {
    id: 'scripted:breaking',
    requests: () => requests,
    async stream(_request, sink) {
      const text = texts[requests++];
      sink.text(text ?? FINAL);
      if (text !== undefined) throw OVERLOADED;
      return { finish: 'stop' };
    },
  };
}

describe('a turn that breaks off', () => {
  it('is followed by the next after the time that its log says, twice as long each time', async () => {
    const clock = createSimulatedClock();
    const { of: all } = await runAgent({
      turns: [],
      model: breaking('<thought>Hm.</thought>', '<thought>Well.</thought>'),
      clock,
      runtime: { random: () => 0.5 },
      async during(session) {
        let isOver = false;
        void session.result.finally(() => {
          isOver = true;
        });
        while (!isOver) {
          await clock.runAll();
          await new Promise(setImmediate);
        }
      },
    });
    const turns = all('turn.started').map(({ at }) => at);
    const failures = all('turn.failed');
    const waited = failures.map(({ at }, index) => (turns[index + 1] ?? 0) - at);
    expect(waited).toEqual(failures.map(({ retry_in }) => retry_in));
    expect(waited).toEqual([waited[0], 2 * (waited[0] ?? 0)]);
    expect(waited[0]).toBeGreaterThan(0);
  });

  it('without any tag is one answer with what goes on with it', async () => {
    const ends = (...texts: readonly string[]): Model => {
      const said = [...texts];
      return {
        id: 'scripted:ends',
        async stream(_request, sink) {
          sink.text(said.shift() ?? FINAL);
          if (said.length > 0) throw OVERLOADED;
          return { finish: 'stop' };
        },
      };
    };
    const run = (...texts: readonly string[]) =>
      runAgent({
        manifest: 'protocol: { bare_text: final }\n',
        turns: [],
        model: ends(...texts),
        runtime: { random: () => 0 },
      });
    expect((await run('It is for', 'ty-', 'two.')).result).toMatchObject({ result: 'It is forty-two.' });
    expect((await run('', 'It is forty-two.')).result).toMatchObject({ result: 'It is forty-two.' });
    const inTag = await run('<response>It is for', 'ty-two.</response>');
    expect(inTag.of('response')).toMatchObject([
      { text: 'It is for', final: false },
      { text: expect.not.stringContaining('ty-two'), final: true },
    ]);
  });

  it('does not start what waited for its end', async () => {
    const { events } = await lived(breaking(call('a', 'late')));
    expect(of(events, 'action.skipped')).toMatchObject([{ id: 'a', reason: 'turn_failed' }]);
    expect(of(events, 'action.started')).toEqual([]);
  });

  it('costs what it said, and nothing before its first word', async () => {
    const { events } = await lived(breaking('<thought>Hm.</thought>', ''));
    const [said, unsaid] = of(events, 'turn.failed');
    expect(said).toMatchObject({ usage: { estimated: true } });
    expect(unsaid).not.toHaveProperty('usage');
  });

  it('before its first character is asked again as it was: the same turn, the same prompt, and no word of it', async () => {
    const asked: string[] = [];
    const model = breaking('', '');
    const { events } = await lived({
      ...model,
      stream(request, sink) {
        asked.push(JSON.stringify(request.messages));
        return model.stream(request, sink);
      },
    });
    expect(asked.length).toBe(3);
    expect(new Set(asked).size).toBe(1);
    expect(of(events, 'turn.started').map(({ turn }) => turn)).toEqual([1, 1, 1]);
    expect(of(events, 'turn.failed')).toMatchObject([{ again: true }, { again: true }]);
    expect(of(events, 'session.completed')).toHaveLength(1);
  });

  it('before its first character is asked again behind a message that came meanwhile, as a new turn', async () => {
    const asked: string[] = [];
    const model = breaking('');
    const { events } = await lived(
      {
        ...model,
        stream(request, sink) {
          asked.push(request.messages.map(({ role, text }) => `${role}: ${text}`).join('\n'));
          return model.stream(request, sink);
        },
      },
      {
        async during(session) {
          await seen(session, 'turn.failed');
          await session.steer('Mind the gap.');
        },
      },
    );
    expect(asked[1]).toContain('Mind the gap.');
    expect(asked[1]).not.toContain('broke off');
    expect(of(events, 'turn.started').map(({ turn }) => turn)).toEqual([1, 2]);
  });

  it('before its first character six times in a row ends the session, and says why', async () => {
    const { events } = await lived(breaking('', '', '', '', '', '', ''));
    expect(of(events, 'turn.failed')).toHaveLength(6);
    expect(of(events, 'session.failed')).toMatchObject([{ error: { code: 'overloaded' } }]);
  });

  it('before its first character goes on so behind a restart', async () => {
    const { behind } = await lived(breaking('<thought>Hm.</thought>', ''));
    const asked: string[] = [];
    const then: Model = {
      id: 'scripted:then',
      async stream({ messages }, sink) {
        asked.push(JSON.stringify(messages));
        sink.text(FINAL);
        return { finish: 'stop' };
      },
    };
    const { all, result } = await behind(
      (event) => event.type === 'turn.failed' && event.again === true,
      then,
    );
    expect(result.status).toBe('completed');
    expect(of(all, 'turn.started').map(({ turn }) => turn)).toEqual([1, 2, 2]);
    expect(asked[0]).toContain('broke off after');
    const open = await behind((event) => event.type === 'turn.started' && event.turn === 2, then);
    expect(of(open.all, 'turn.started').map(({ turn }) => turn)).toEqual([1, 2, 2, 2]);
    expect(asked[1]).toBe(asked[0]);
  });

  it('has what it said out before the next, as of its own turn', async () => {
    const { events } = await lived(
      breaking(`${call('a', 'slow')}<response final="false">It is $a.</response>`),
      {
        isHeld: true,
        async during(session, slow) {
          await seen(session, 'turn.failed');
          await endSlow(slow);
        },
      },
    );
    expect(of(events, 'turn.started', 'response')).toMatchObject([
      { type: 'turn.started' },
      { type: 'response', turn: 1, text: 'It is at last.' },
      { type: 'turn.started' },
      { type: 'response', final: true },
    ]);
  });
});

describe('a turn that somebody ends', () => {
  const endless: Model = {
    id: 'scripted:endless',
    stream: ({ signal }, sink) =>
      new Promise((_, reject) => {
        sink.text('<thought>Hm.</thought>I was about to');
        signal.addEventListener('abort', () => reject(new Error('aborted')));
      }),
  };

  it('has all that it had said by then on its log, and counted', async () => {
    const { of: all } = await runAgent({
      turns: [],
      model: endless,
      async during(session) {
        await seen(session, 'thought');
        await session.cancel('Enough.');
      },
    });
    expect(
      all('model.output')
        .map(({ text }) => text)
        .join(''),
    ).toBe('<thought>Hm.</thought>I was about to');
    expect(all('turn.failed')).toMatchObject([
      { error: { code: 'cancelled' }, usage: { estimated: true, output: expect.any(Number) } },
    ]);
  });
});

describe('a fault', () => {
  it('keeps a response from being final where something may not have acted, and not where it is about prose', () => {
    const acting = [
      'no_body',
      'tag_too_long',
      'not_here',
      'truncated',
      'bad_json',
      'body_too_large',
      'bad_action',
      'bad_attribute',
      'duplicate_id',
      'in_doubt',
      'unsealed',
      'bad_variable',
      'bad_test',
    ];
    const prose = ['fence_left_open', 'not_in_response', 'stray_close', 'thought_left_open', 'reserved_tag'];
    const faults = [...acting, ...prose, 'toString', 'not_run', 'bad_json'].map((code) => ({ code }));
    expect(preventedActions(faults)).toEqual(acting);
  });
});
