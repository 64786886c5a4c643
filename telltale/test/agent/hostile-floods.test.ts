import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { DIALECTS, type Dialect, type Move } from '../lab/models/move.ts';
import { speak } from '../lab/models/speak.ts';
import { WIRES } from '../lab/models/stand-in.ts';
import type { WireName } from '../wire/check-request.ts';
import { type Answer, FORMATS, inTinyDeltas, runOverHttp } from '../wire/over-http.ts';
import { noting } from './noting.ts';

const DELTAS = 120_000;
/** How often the heap is measured while an answer comes in. */
const MEASUREMENTS = 6;

/** Text that does not repeat itself. */
const textOf = (length: number): string =>
  Array.from({ length: length / 4 }, (_, at) => `${at};`)
    .join('')
    .slice(0, length);

const move = (length: number): Move => ({
  thought: textOf(length / 2),
  acts: [{ key: 'n', name: 'note', parameters: { text: textOf(length / 2) } }],
});
const answer: Answer = { move: { acts: [], final: 'Done.' } };

const framesOf = (format: WireName, dialect: Dialect, length: number) =>
  WIRES[format].frames(speak(move(length), { dialect, turn: 1 }), { input: 100, output: 100 });

/** Sends frames as fast as the client takes them. Calls `sent` behind each with its size. */
async function flood(
  response: ServerResponse,
  frames: Iterable<string>,
  sent: (size: number) => void,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const closed = once(response, 'close');
  for (const frame of frames) {
    if (!response.write(frame)) await Promise.race([once(response, 'drain'), closed]);
    if (response.destroyed) return;
    sent(frame.length);
  }
  response.end();
}

/** What is on the heap once everything is collected that nobody holds. */
function liveHeap(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

describe(`a provider that sends ${DELTAS} deltas of one character as fast as it can`, () => {
  const format = 'openai-chat';

  /** Runs the agent, and measures how far the live heap grows while the first answer comes in. */
  const run = async (dialect: Dialect, frames: Iterable<string>) => {
    const { noted, agent } = noting();
    let [before, grown, bytes, frame] = [0, 0, 0, 0];
    const ran = await runOverHttp({
      format,
      dialect,
      agent,
      // Somebody watches: live events are made, too.
      onEvent: () => undefined,
      answers: [
        (response) => {
          before = liveHeap();
          return flood(response, frames, (size) => {
            bytes += size;
            if (++frame % (DELTAS / MEASUREMENTS) === 0) grown = Math.max(grown, liveHeap() - before);
          });
        },
        answer,
      ],
    });
    return { ...ran, noted, bytes, grown };
  };

  it.each(DIALECTS)(
    'gets the same log as in large ones, and no delta stays in memory (%s)',
    async (dialect) => {
      const large = framesOf(format, dialect, DELTAS);
      const whole = await run(dialect, large);
      const tiny = await run(dialect, inTinyDeltas(format, large));
      expect(tiny.result).toMatchObject({ status: 'completed', result: 'Done.', turns: 2 });
      expect(tiny.noted).toEqual(whole.noted);
      expect(tiny.noted[0]).toHaveLength(DELTAS / 2);
      expect(tiny.events.map(({ type }) => type)).toEqual(whole.events.map(({ type }) => type));
      expect(tiny.bytes).toBeGreaterThan(DELTAS * 100);
      expect(tiny.grown).toBeLessThan(tiny.bytes / 3);
    },
  );
});

describe.each(FORMATS)('a provider that never ends its flood of tiny deltas over %s', (format) => {
  // Gemini's calls come whole: only its text comes in pieces.
  const dialects = format === 'google' ? (['tags'] as const) : DIALECTS;

  it.each(dialects)('is left as soon as the session is cancelled (%s)', async (dialect) => {
    const { noted, agent } = noting();
    const cancel = new AbortController();
    let left: Promise<unknown> | undefined;
    const ran = await runOverHttp({
      format,
      dialect,
      agent,
      signal: cancel.signal,
      answers: [
        (response) => {
          left = once(response, 'close');
          let sent = 0;
          return flood(response, inTinyDeltas(format, framesOf(format, dialect, 4_000_000)), () => {
            if (++sent === 10_000) cancel.abort(new Error('enough'));
          });
        },
      ],
    });
    await left;
    expect(ran.result).toMatchObject({ status: 'cancelled' });
    expect(noted).toEqual([]);
    expect(ran.bodies).toHaveLength(1);
    expect(ran.events.length).toBeLessThan(20);
    expect(ran.events.at(-1)?.type).toBe('session.cancelled');
  });
});
