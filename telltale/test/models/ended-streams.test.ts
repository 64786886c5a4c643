import { describe, expect, it } from 'vitest';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { createProviderModel } from '../../src/models/providers/create-provider-model.ts';
import { WIRES } from '../lab/models/stand-in.ts';
import type { ProviderName } from '../lab/models/words.ts';
import { ask } from './collect.ts';

const ENV = {
  OPENAI_API_KEY: 'k',
  GOOGLE_GENERATIVE_AI_API_KEY: 'k',
  OPENAI_COMPATIBLE_BASE_URL: 'http://localhost',
};
const MODELS = {
  'openai-chat': 'openai-compatible/m',
  'openai-responses': 'openai/gpt-5',
  google: 'google/gemini-2.5-flash',
};
const USAGE = { input: 10, output: 20 };

/** Asks a model on a connection that never ends, over which `text` comes in pieces of so many bytes. */
async function asked(format: keyof typeof MODELS, text: string, size: number) {
  const clock = createSimulatedClock();
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  let isCancelled = false;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at >= bytes.length) return new Promise(() => undefined);
      controller.enqueue(bytes.slice(at, at + size));
      at += size;
      return undefined;
    },
    cancel() {
      isCancelled = true;
    },
  });
  const fetch = async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  const said = ask(await createProviderModel(MODELS[format], { env: ENV, fetch, clock }));
  return { ...said, clock, isCancelled: () => isCancelled };
}

const framesOf = (format: ProviderName, text: string) =>
  WIRES[format].frames({ parts: [{ type: 'text', text }], finish: 'stop' }, USAGE).join('');

describe.each(['openai-chat', 'openai-responses'] as const)('a stream in the format %s', (format) => {
  it.each([1, 2, 7, 61, 100_000])(
    'ends with its answer, however it is cut: %i bytes a piece',
    async (size) => {
      for (const lineEnd of ['\n', '\r\n']) {
        const text =
          framesOf(format, 'Say data: [DONE] or event: response.completed, ä.') + framesOf(format, 'More.');
        const { deltas, end, isCancelled } = await asked(format, text.replaceAll('\n', lineEnd), size);
        expect(await end).toEqual({ finish: 'stop', usage: expect.objectContaining(USAGE) });
        expect(deltas.join('')).toBe('Say data: [DONE] or event: response.completed, ä.');
        expect(isCancelled()).toBe(true);
      }
    },
  );
});

it.each([1, 61, 100_000])(
  "Google's ends when nothing follows a reason to finish: %i bytes a piece",
  async (size) => {
    const text = framesOf('google', 'One "finishReason": ');
    const { clock, deltas, end } = await asked('google', text + framesOf('google', 'and two.'), size);
    const begun = clock.now();
    let ended: unknown;
    end.then((value) => {
      ended = value;
    });
    await expect.poll(() => deltas.join('')).toBe('One "finishReason": and two.');
    await expect
      .poll(async () => {
        await clock.advance(1_000);
        return ended;
      })
      .toEqual({ finish: 'stop', usage: expect.objectContaining(USAGE) });
    expect(clock.now() - begun).toBeLessThan(20_000);
  },
);
