import { describe, expect, it } from 'vitest';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import type { Model, ModelSink } from '../../src/models/model.ts';
import { runAgent, tool } from './run-agent.ts';

const manifest = 'import: { tools: [./tools/*.yml] }\n';
const files = tool('echo', 'return input;');

describe('a listener that throws', () => {
  it('harms neither the session nor other listeners, and its error is not lost', async () => {
    const others = process.listeners('uncaughtException');
    const thrown: unknown[] = [];
    process.removeAllListeners('uncaughtException');
    process.on('uncaughtException', (error) => thrown.push(error));
    try {
      const { result, events, observed } = await runAgent({
        manifest,
        files,
        turns: ['<thought>Hm.</thought><action id="a">{"name":"echo"}</action>', '<response>$a</response>'],
        during: (session) => {
          session.subscribe(() => {
            throw new Error('mine');
          });
        },
      });
      expect(result.status).toBe('completed');
      expect(observed.filter((event) => 'seq' in event)).toHaveLength(events.length);
      expect(thrown).toHaveLength(observed.length);
    } finally {
      process.removeAllListeners('uncaughtException');
      for (const listener of others) process.on('uncaughtException', listener);
    }
  });
});

describe('a model', () => {
  it('that goes on talking after its stream has ended is not heard', async () => {
    let late = (): void => undefined;
    const model: Model = {
      id: 'test/late',
      async stream({ turn }, sink) {
        if (turn === 1) {
          sink.text('<thought>Hm.</thought>');
          late = () => {
            sink.reasoning('hm');
            sink.text('<action id="late">{"name":"echo"}</action>');
          };
        } else {
          late();
          sink.text('<response>End.</response>');
        }
        return { finish: 'stop' };
      },
    };
    const { result, of, observed } = await runAgent({ manifest, files, turns: [], model });
    expect(result).toMatchObject({ status: 'completed', result: 'End.' });
    expect(of('action.declared')).toEqual([]);
    expect(observed.some((event) => event.type === 'thought.delta' && event.text === 'hm')).toBe(false);
  });

  const endless = (said: string): Model => ({
    id: 'test/mine',
    // As a Model that was not written in TypeScript may do.
    stream: (async (_request: unknown, sink: ModelSink) => sink.text(said)) as unknown as Model['stream'],
  });

  it('that does not say how it ended fails its session, with what it should have said', async () => {
    const { result, of } = await runAgent({ turns: [], model: endless('<thought>Hm.</thought>') });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'model_end_missing' } });
    expect(result.error?.message).toContain('test/mine resolved to undefined');
    expect(result.error?.hint).toContain('{ finish: "stop" }');
    expect(of('turn.failed')).toHaveLength(1);
  });

  it('that is a generator, whose pieces nobody asks for, fails its session in place of doing nothing', async () => {
    const model = {
      id: 'test/mine',
      async *stream() {
        yield '<response>End.</response>';
      },
    } as unknown as Model;
    const { result } = await runAgent({ turns: [], model });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'model_end_missing' } });
    expect(result.error?.hint).toContain('sink.text(delta)');
  });

  it.each([
    { input: Number.NaN, output: 1 },
    { input: 1 },
    { input: -1, output: 1 },
    { input: '1', output: '1' },
    { input: 1, output: 1, cached: Number.NaN },
    null,
  ])('that gives %o as its figures is counted itself, so that limits hold', async (usage) => {
    const model = {
      id: 'test/mine',
      price: { input: 1, output: 1 },
      async stream(_request: unknown, sink: ModelSink) {
        sink.text('<response>End.</response>');
        return { finish: 'stop', usage };
      },
    } as unknown as Model;
    const { result, of } = await runAgent({ turns: [], model });
    expect(of('turn.completed')).toMatchObject([{ usage: { estimated: true } }]);
    expect(result.usage.input).toBeGreaterThan(0);
    expect(result.cost_usd).toBeGreaterThan(0);
  });

  it('that says something else than text is told so, by the name of the call', async () => {
    for (const call of ['text', 'reasoning'] as const) {
      const model = {
        id: 'test/mine',
        async stream(_request: unknown, sink: ModelSink) {
          sink[call](undefined as unknown as string);
          return { finish: 'stop' };
        },
      } as unknown as Model;
      const { result } = await runAgent({ turns: [], model });
      expect(result.error).toMatchObject({ code: 'model_not_text', message: expect.stringContaining(call) });
    }
  });

  it('that does not say how it ended takes nothing back from a final response', async () => {
    const { result, of } = await runAgent({ turns: [], model: endless('<response>End.</response>') });
    expect(result).toMatchObject({ status: 'completed', result: 'End.' });
    expect(of('turn.completed')).toMatchObject([{ usage: { estimated: true } }]);
  });

  it('that does not end when it is told to is left to itself after a while', async () => {
    const clock = createSimulatedClock();
    const model: Model = {
      id: 'test/deaf',
      stream(_request, sink) {
        sink.text('<response>End.</response>');
        return new Promise(() => undefined);
      },
    };
    const ran = runAgent({ turns: [], model, clock });
    let over = false;
    const result = ran.finally(() => {
      over = true;
    });
    while (!over) {
      await new Promise((resolve) => setImmediate(resolve));
      await clock.advance(1_000);
    }
    expect((await result).result).toMatchObject({ status: 'completed', result: 'End.' });
  });

  it('that throws before it gives a promise has failed', async () => {
    const model: Model = {
      id: 'test/thrower',
      stream() {
        throw new Error('at once');
      },
    };
    const { result } = await runAgent({ turns: [], model });
    expect(result).toMatchObject({ status: 'failed', error: { message: 'at once' } });
  });
});
