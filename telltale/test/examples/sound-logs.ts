import { afterAll, expect, vi } from 'vitest';
import { type PlacedEvent, unsoundCauses } from '../log/unsound-causes.ts';

type Written = PlacedEvent & { readonly prompt?: { readonly reused_prefix: number } };

const WRITTEN = Symbol.for('telltale.written-logs');
const store = globalThis as unknown as Record<symbol, Map<string, Written[]> | undefined>;
store[WRITTEN] ??= new Map();

/** Another runtime of the same file may have a run of the same name, from its first event on. */
function note(stream: string, event: Written): void {
  const logs = store[WRITTEN] as Map<string, Written[]>;
  if (event.seq === 1) logs.set(stream, []);
  logs.get(stream)?.push(event);
}

vi.mock('../../src/log/codec.ts', async (original) => {
  const real = await original<typeof import('../../src/log/codec.ts')>();
  return {
    ...real,
    encodeNext(...given: Parameters<typeof real.encodeNext>) {
      const [, body, seq, , session, , cause] = given;
      note(session, { ...body, seq, cause } as Written);
      return real.encodeNext(...given);
    },
  };
});

vi.mock('../../src/log/run-codec.ts', async (original) => {
  const real = await original<typeof import('../../src/log/run-codec.ts')>();
  return {
    ...real,
    encodeRunEvent(...given: Parameters<typeof real.encodeRunEvent>) {
      const [{ seq, cause, run }, { type }] = given;
      note(run, { type, seq, cause });
      return real.encodeRunEvent(...given);
    },
  };
});

/** Of all that the examples of a file wrote, called agents and workflow runs included. */
afterAll(() => {
  const logs = store[WRITTEN] ?? new Map<string, Written[]>();
  expect(unsoundCauses(logs)).toEqual([]);
  expect([...logs].flatMap(([stream, events]) => rewritten(stream, events))).toEqual([]);
});

/** Turns whose prompt does not begin with the whole of the one before. */
function rewritten(stream: string, events: readonly Written[]): readonly string[] {
  return events.flatMap(({ seq, type, prompt }) =>
    type !== 'turn.started' || prompt?.reused_prefix === 1
      ? []
      : [`${stream} ${seq}: ${prompt?.reused_prefix} of the prompt before`],
  );
}
